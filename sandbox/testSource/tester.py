# T: runs test source unchanged against the stand-ins of stubs.py and reports every test. The host combines the reports
# with what it saw of the program.
import __future__
import contextlib
import symtable
import unittest


def report(**message):
    channel.send(to_json(message))


def say(error):
    """An exception in one line, with the line number of the tests."""
    trace, line = error.__traceback__, None
    while trace:
        if trace.tb_frame.f_code.co_filename == 'tests.py':
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        text = str(error)[:300]
    except Exception:
        text = ''
    return type(error).__name__ + (': ' + text if text else '') + (f' (line {line})' if line else '')


def verdict_of(error):
    """pass, fail, error, or None for a skipped test. An assertion error of the program is an error."""
    if is_from_program(error):
        return 'error'  # a program cannot skip or fail a test
    outcomes = sys.modules.get('_pytest.outcomes')
    if isinstance(error, (unittest.SkipTest, outcomes.Skipped) if outcomes else unittest.SkipTest):
        return None
    failed = isinstance(error, (AssertionError, outcomes.Failed) if outcomes else AssertionError)
    return 'fail' if failed else 'error'


def is_from_program(error):
    return '_from_program' in getattr(error, '__dict__', {})


COROUTINE, GENERATOR, ASYNC_GENERATOR = 0x80, 0x20, 0x200  # flags of code objects


def refuse_generator(function, more=0):
    """A call of a generator function runs nothing, so such a test would pass."""
    code = getattr(function, '__code__', None)
    if code is not None and code.co_flags & (GENERATOR | ASYNC_GENERATOR | more):
        raise TypeError('a test must not yield or be asynchronous: a call of it runs nothing')


class Source:
    """Test source of style assert, split into set-up and tests."""

    def __init__(self, text, entry):
        self.tree = ast.parse(text, 'tests.py')
        self.entry, self.names, self.steps, self.later = entry, [], [], []
        defined = {x.name for x in self.tree.body if isinstance(x, ast.FunctionDef)}
        self.is_check_called = False
        for node in self.tree.body:
            self.add(node, defined)
        checks = [x for x in self.tree.body if isinstance(x, ast.FunctionDef) and x.name == 'check' and x.args.args]
        if checks and not self.is_check_called:
            self.later.append(('check', None, self.check))
        self.names = list(dict.fromkeys(name for name, _, _ in self.steps + self.later if name))
        self.sees_all = not (checks and entry)  # the helpers of a `check(candidate)` are the problem's

    def add(self, node, defined):
        called = called_name(node)
        if is_main_guard(node) or called in ('unittest.main', 'pytest.main'):
            return
        if isinstance(node, ast.Assert) or called == 'check' and 'check' in defined:
            self.is_check_called |= called == 'check'
            return self.steps.append((self.fresh(f'line {node.lineno}'), node, None))
        if called in defined and called.startswith('test'):
            return
        if isinstance(node, (ast.For, ast.While, ast.If, ast.With, ast.Try)) and has_assert(node):
            return self.steps.append((self.fresh(f'line {node.lineno}'), node, None))
        self.steps.append((None, node, None))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_test(node.name):
            self.later.append((node.name, None, self.function))
        if isinstance(node, ast.ClassDef):
            is_case = any(ast.unparse(base).endswith('TestCase') for base in node.bases)
            if is_case or node.name.startswith('Test'):
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and method.name.startswith('test'):
                        run = self.case if is_case else self.method
                        self.later.append((f'{node.name}.{method.name}', None, run))

    def fresh(self, name):
        taken = {step[0] for step in self.steps}
        return next(x for x in (name, *(f'{name} #{k}' for k in range(2, len(taken) + 3))) if x not in taken)

    # ---- kinds of tests ----
    def check(self, namespace, name):
        if not self.entry:
            raise TypeError('check(candidate) needs the entry of the program')
        owner, _, method = self.entry.partition('.')
        entry = stand_in(owner) if owner in tested['names'] else namespace.get(owner, Missing(owner))
        refuse_generator(namespace['check'], COROUTINE)
        if method:  # each call on a new object, as with tests of values
            namespace['check'](lambda *args, **kwargs: getattr(entry(), method)(*args, **kwargs))
        else:
            namespace['check'](entry)

    def function(self, namespace, name):
        function = namespace[name]
        code = getattr(function, '__code__', None)
        if code is not None and (code.co_flags & COROUTINE or code.co_argcount > len(function.__defaults__ or ())):
            raise TypeError('a test with parameters, or an asynchronous one, needs the style pytest')
        refuse_generator(function)
        function()

    def method(self, namespace, name):
        owner, _, method = name.partition('.')
        one = namespace[owner]()
        refuse_generator(getattr(one, method), COROUTINE)
        for before in ('setup_method', 'setUp'):
            if hasattr(one, before):
                before = getattr(one, before)
                before(getattr(one, method)) if before.__code__.co_argcount > 1 else before()
        getattr(one, method)()

    def case(self, namespace, name):
        owner, _, method = name.partition('.')
        refuse_generator(getattr(namespace[owner], method))
        result = Result()
        unittest.TestSuite([namespace[owner](method)]).run(result)
        if result.error is not None:
            raise result.error
        if result.skipped:
            raise unittest.SkipTest
        if result.unexpectedSuccesses:
            raise AssertionError('it succeeded, and was expected to fail')


class Result(unittest.TestResult):
    """Keeps the exception itself, which has more information than unittest's text."""

    error = None

    def addError(self, test, error):
        super().addError(test, error)
        self.error = error[1]

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.error = error[1]

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.error = error[1]


def is_test(name):
    return name.startswith('test_') or name == 'test'


def called_name(node):
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func) if isinstance(node.value.func, (ast.Name, ast.Attribute)) else None


def is_main_guard(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and ast.unparse(node.test.left) == '__name__'


def has_assert(node):
    """Whether a statement contains an assert outside definitions."""
    if isinstance(node, ast.Assert):
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return False
    return any(has_assert(child) for child in ast.iter_child_nodes(node))


def doubtful(tree):
    """Why the tests are ambiguous: they use a name that is a builtin and also the program's. None if they are not."""
    nodes = list(ast.walk(tree))
    names = {x.id for x in nodes if isinstance(x, ast.Name)}
    told = {x.asname or x.name for x in nodes if isinstance(x, ast.alias)}
    both = sorted((names - told) & (tested['names'].keys() - set(shown_names())) & vars(builtins).keys())
    return both and f'{both[0]} is a builtin and also defined by the program: name the entry, or import it in the tests' or None


def run_asserts(text, entry, skips):
    source = Source(text, entry)
    report(tests=source.names)
    module = types.ModuleType('tests')
    sys.modules['tests'] = module
    module.__file__ = module.__package__ = 'tests'
    namespace, blocked, flags = module.__dict__, None, 0
    try:
        for name in shown_names():
            if source.sees_all or name == tested['owner'] or tested['names'][name][0] in 'mi':
                namespace[name] = stand_in(name)
        if entry is None:
            blocked = doubtful(source.tree)
    except BaseException as error:
        blocked = say(error)
    for name, node, run in source.steps + source.later:
        if name is None:
            if isinstance(node, ast.ImportFrom) and node.module == '__future__':
                for feature in node.names:
                    flags |= getattr(__future__, feature.name).compiler_flag
            try:
                if blocked is None:
                    execute(node, flags, namespace)
            except BaseException as error:
                blocked = f'the set-up failed: {say(error)}'
            continue
        if skips(name):
            continue
        report(begin=name)
        verdict, message = ('pass', None) if blocked is None else ('error', blocked)
        try:
            if blocked is None:
                run(namespace, name) if run else execute(node, flags, namespace)
        except BaseException as error:
            verdict, message = verdict_of(error), say(error)
        report(end=[name, verdict, message])


def execute(node, flags, namespace):
    exec(compile(ast.Module([node], []), 'tests.py', 'exec', flags, True), namespace)


def read_names(text, files):
    """Names that the tests bind, anywhere in the module, to something that is not the program's. A module that does not
    exist and from which they import the entry is the program."""
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
    """Runs and reports the tests of one job. The first message from the host contains the program's names.
    `skip`: tests that an earlier process has ended; `only`: all tests to run, or None."""
    done, wanted = frozenset(skip), None if only is None else frozenset(only)

    def skips(name):
        return name in done or wanted is not None and name not in wanted

    seed_random(0)
    names = json.loads(channel.receive())['names']
    open_solution(names, entry)
    for text in files.values():
        with contextlib.suppress(Exception):  # text that does not parse, which the run says
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
