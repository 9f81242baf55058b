# Runs in T, the process of the tests. It runs test source unchanged, with the stand-ins of stubs.py in place of the program,
# and reports every test. The host may make a reported outcome worse, because it also watches the program.
import __future__
import contextlib
import functools
import symtable
import traceback
import unittest


def report(**message):
    channel.send(to_json(message))


def say(error):
    """Describes an exception in one line, with the line number in the tests."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == 'tests.py']
    try:
        text = str(error)[:300]
    except Exception:
        text = ''
    return type(error).__name__ + (': ' + text if text else '') + (f' (line {lines[-1]})' if lines else '')


def verdict_of(error):
    """Returns pass, fail, error, or None for a skipped test. An AssertionError that the program raised is an error."""
    if is_from_program(error):
        return 'error'  # only the tests can skip or fail a test
    outcomes = sys.modules.get('_pytest.outcomes')
    if isinstance(error, (unittest.SkipTest, outcomes.Skipped) if outcomes else unittest.SkipTest):
        return None
    failed = isinstance(error, (AssertionError, outcomes.Failed) if outcomes else AssertionError)
    return 'fail' if failed else 'error'


def is_from_program(error):
    return '_from_program' in getattr(error, '__dict__', {})


def checked(test):
    """Wraps a test so that it fails if a call only makes a generator or a coroutine, and so tests nothing."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        value = test(*args, **kwargs)
        if isinstance(value, (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)):
            raise TypeError(('tests that yield' if hasattr(value, 'gi_code') else 'asynchronous tests') + ' are not supported')

    return run


def needs(function):
    """Returns how many arguments a function must be given."""
    code = getattr(function, '__code__', None)
    return code.co_argcount - hasattr(function, '__self__') - len(function.__defaults__ or ()) if code else 0


def cases_of(suite):
    """Yields [name, test] for each test in a suite of unittest."""
    for test in suite:
        if isinstance(test, unittest.BaseTestSuite):
            yield from cases_of(test)
        elif getattr(test, '__test__', True):
            yield test.id().removeprefix('tests.'), test


class Source:
    """Test source of style assert, split into statements that set something up and statements that are tests."""

    def __init__(self, text, entry):
        self.tree = ast.parse(text, 'tests.py')
        self.entry, self.names, self.steps = entry, {}, []
        functions = [x for x in self.tree.body if isinstance(x, ast.FunctionDef)]
        defined = {x.name for x in functions}
        self.helpers = set()  # functions whose call may be a test
        for _ in range(3):  # they may call each other
            self.helpers |= {x.name for x in functions if any(has_assert(one, self.helpers) for one in x.body)}
        self.is_check_called = False
        for node in self.tree.body:
            self.add(node, defined)
        check = any(x.name == 'check' and x.args.args for x in functions)
        self.sees_all = not (check and entry)  # with `check(candidate)`, helpers come from the problem, not the program

    def add(self, node, defined):
        called = called_name(node)
        if is_main_guard(node) or called in ('unittest.main', 'pytest.main'):
            return
        if called in defined and called.startswith('test'):
            return
        is_check = called == 'check' and 'check' in defined
        self.is_check_called |= is_check
        names = isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign))
        is_test = is_check or not names and has_assert(node, self.helpers)
        self.steps.append((self.fresh(f'line {node.lineno}') if is_test else None, node))

    def fresh(self, name):
        count = self.names[name] = self.names.get(name, 0) + 1
        return name if count == 1 else f'{name} #{count}'

    def collect(self, module):
        """Returns [name, function, argument] for each test that unittest and pytest find in a module after its set-up."""
        cases = list(cases_of(unittest.defaultTestLoader.loadTestsFromModule(module)))
        self.mixed = {base for _, test in cases for base in type(test).__mro__}
        found = [*self.plain(vars(module)), *((name, self.case, test) for name, test in cases)]
        check = vars(module).get('check')
        if isinstance(check, types.FunctionType) and needs(check) and not self.is_check_called:
            found.append(('check', self.check, check))
        return [(self.fresh(name), *more) for name, *more in found]

    def plain(self, names, path=''):
        """Yields the functions and methods that pytest finds, even in inner classes. A function with parameters is a helper,
        unless it is named `test` or `test_…`."""
        for name, x in list(names.items()):
            if isinstance(x, types.FunctionType) and name.startswith('test') and not path:
                if name[4:5] in ('', '_') or needs(x) <= 0:
                    yield name, self.function, x
            elif not isinstance(x, type) or isinstance(x, ClassOfProgram) or x in self.mixed:
                continue
            elif name.startswith('Test') and getattr(x, '__test__', True) and not issubclass(x, unittest.TestCase):
                inner = {key: getattr(x, key) for one in reversed(x.__mro__) for key in vars(one) if hasattr(x, key)}
                tests = [key for key in inner if key.startswith('test') and callable(inner[key])]
                yield from ((f'{path}{name}.{key}', self.method, (x, key)) for key in tests)
                yield from self.plain(inner, f'{path}{name}.')

    # ---- kinds of tests ----
    def check(self, check):
        if not self.entry:
            raise TypeError('check(candidate) needs the entry of the program')
        owner, _, method = self.entry.partition('.')
        entry = stand_in(owner) if owner in tested['names'] else vars(sys.modules['tests']).get(owner, Missing(owner))
        # a method is called on a new object each time, as tests of values do
        checked(check)((lambda *args, **kwargs: getattr(entry(), method)(*args, **kwargs)) if method else entry)

    def function(self, test):
        if needs(test) > 0:
            raise TypeError('a test with parameters needs the style pytest')
        checked(test)()

    def method(self, found):
        one = found[0]()
        test = getattr(one, found[1])

        def call(*fixtures):
            for fixture in [getattr(one, name) for name in fixtures if hasattr(one, name)]:
                fixture(*[test][: needs(fixture)])

        call('setup_class', 'setup_method', 'setUp')
        try:
            self.function(test)
        finally:
            call('tearDown', 'teardown_method', 'teardown_class')

    def case(self, test):
        if any(one.__name__ == 'IsolatedAsyncioTestCase' for one in type(test).__mro__):
            raise TypeError('asynchronous tests are not supported')
        name = test._testMethodName
        setattr(test, name, checked(getattr(test, name)))
        result = Result()
        unittest.TestSuite([test]).run(result)
        if result.error is not None:
            raise result.error
        if result.skipped:
            raise unittest.SkipTest
        if result.unexpectedSuccesses:
            raise AssertionError('it succeeded, and was expected to fail')


class Result(unittest.TestResult):
    """Keeps the exception itself, because unittest's text does not have all of its information."""

    error = None

    def addError(self, test, error):
        self.error = error[1]

    addFailure = addError

    def addSubTest(self, test, subtest, error):
        self.error = error[1] if error else self.error


def called_name(node):
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func) if isinstance(node.value.func, (ast.Name, ast.Attribute)) else None


def is_main_guard(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and ast.unparse(node.test.left) == '__name__'


def has_assert(node, helpers=()):
    """Whether a statement, apart from definitions in it, contains an assert or calls a helper."""
    if isinstance(node, ast.Assert) or isinstance(node, ast.Call) and getattr(node.func, 'id', None) in helpers:
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return False
    return any(has_assert(child, helpers) for child in ast.iter_child_nodes(node))


def doubtful(tree):
    """Says that the tests are ambiguous if they use a name that is a builtin and that the program defines, too."""
    nodes = list(ast.walk(tree))
    names = {x.id for x in nodes if isinstance(x, ast.Name)}
    told = {x.asname or x.name for x in nodes if isinstance(x, ast.alias)}
    both = sorted((names - told) & (tested['names'].keys() - set(shown_names())) & vars(builtins).keys())
    return both and f'{both[0]} is a builtin and also defined by the program: name the entry, or import it in the tests' or None


def run_asserts(text, entry, skips):
    source = Source(text, entry)
    module = types.ModuleType('tests')
    sys.modules['tests'] = module
    module.__file__ = module.__package__ = 'tests'
    namespace, blocked, flags = module.__dict__, None, 0

    def perform(name, run, *given):
        if skips(name):
            return
        report(begin=name)
        verdict, message = ('pass', None) if blocked is None else ('error', blocked)
        try:
            if blocked is None:
                run(*given)
        except BaseException as error:
            verdict, message = verdict_of(error), say(error)
        report(end=[name, verdict, message])

    report(tests=list(source.names))
    try:
        for name in shown_names():
            if source.sees_all or name == tested['owner'] or tested['names'][name][0] in 'mi':
                namespace[name] = stand_in(name)
        if entry is None:
            blocked = doubtful(source.tree)
    except BaseException as error:
        blocked = say(error)
    for name, node in source.steps:
        if name is not None:
            perform(name, execute, node, flags, namespace)
            continue
        if isinstance(node, ast.ImportFrom) and node.module == '__future__':
            for feature in node.names:
                flags |= getattr(__future__, feature.name).compiler_flag
        try:
            # definitions and imports are always executed, so that the tests in them have names
            if blocked is None or isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
                execute(node, flags, namespace)
        except BaseException as error:
            blocked = blocked or f'the set-up failed: {say(error)}'
    found = source.collect(module) or ([('tests', None)] if blocked and not source.names else [])
    report(tests=[name for name, *_ in found])
    for name, run, *given in found:
        perform(name, run, *given)


def execute(node, flags, namespace):
    exec(compile(ast.Module([node], []), 'tests.py', 'exec', flags, True), namespace)


def read_names(text, files):
    """Adds to `own` the names that the tests bind anywhere in the module to something that is not from the program. If they
    import the entry from a module that does not exist, that module is the program."""
    table = symtable.symtable(text, 'tests', 'exec')
    own = {x.get_name() for x in table.get_symbols() if x.is_local() or x.is_declared_global()}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            line = ['tests'] * node.level + node.module.split('.')
            is_known = line[0] in sys.modules or any(line[0] in path for path in files) or importlib.util.find_spec(line[0])
            if not is_known and tested['owner'] in [one.name for one in node.names]:
                sys.modules.update(('.'.join(line[: k + 1]), sys.modules['solution']) for k in range(len(line)))
            if sys.modules.get('.'.join(line)) is sys.modules['solution']:
                own -= {one.asname or one.name for one in node.names}
    tested['own'] |= own


def run_tests(style, files, entry, skip, only, imports):
    """Runs and reports the tests of one job. The first message from the host has the program's names. `skip` has tests that
    an earlier process reported. `only` has the tests to run; None runs all."""
    done, wanted = frozenset(skip), None if only is None else frozenset(only)

    def skips(name):
        return name in done or wanted is not None and name not in wanted

    seed_random(0)
    names = json.loads(channel.receive())['names']
    open_solution(names, entry)
    for text in files.values():
        with contextlib.suppress(Exception):  # text that does not parse is reported when it runs
            read_names(text, files)
        tested['words'].update(re.findall(r'\w+', text), [tested['owner']])
    read_imports(imports)
    try:
        if style == 'pytest':
            run_pytest(files, skips)
        else:
            run_asserts(next(iter(files.values()), ''), entry, skips)
    except BaseException as error:
        report(tests=['tests'])
        report(begin='tests')
        why = 'do not parse' if isinstance(error, SyntaxError) else 'could not be run'
        report(end=['tests', 'error', f'the tests {why}: {say(error)}'])
    report(done=True)


def converse(job):
    run_tests(job['style'], job['files'], job['entry'], job['skip'], job['only'], job['imports'])
