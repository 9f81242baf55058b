# Runs in T, the process of the tests. It makes the module `solution`, which the tests use as if it were the program. Its
# functions, classes and objects are stand-ins: they have no code of the program, and send each use of them as a request to
# S, the process of the program.
#
# An example: a test calls `solution.f([1])`. `Function.__call__` calls `ask`, which packs the arguments (exchange.py), sends
# the request, and unpacks the answer or raises the exception that the program raised.
#
# The rule behind all classes here: the program must not decide whether a test passes. So plain data in an answer is made
# anew, and `==` runs no code of the program. For all other objects there are two classes:
#   Object  The test constructed it. The test examines its class, so operators are sent to S.
#   Opaque  The program returned it, perhaps in place of a right answer. It has attributes and methods, but every operator
#           raises a TypeError: an `__eq__` of the program could equal anything.
#
# The parts of this file, in order: requests (ask, give, take); stand-ins for functions, missing names and methods; the tables
# of operators; stand-ins for objects (Opaque, Object, Iterator) and for classes; the module itself (stand_in, Solution).
import ast
import importlib.util
import re
import threading

lock = threading.RLock()
# names: the kind and detail of each name of the program; own: names that the tests define; words: all words in their text
tested = {'names': {}, 'own': set(), 'words': set(), 'entry': None, 'stdout': None}
stand_ins = {}  # the stand-in of each name
proxies = {}  # the stand-in of each object in S, by its number


class ProgramEnded(BaseException):
    """The program reached a limit, or its process ended. The host has judged the test already, even if the test catches this."""


class ProgramInterrupt(BaseException):
    """The program raised an exception that would end the whole test run."""


def ask(op, subject, name, args=(), kwargs=None):
    """Sends one request to S. Returns its value or raises what the program raised. Afterwards both sides have the same items
    in their containers, whichever side changed them."""
    args = [ask('get', x._subject, x.__name__) if isinstance(x, Method) else x for x in args]
    with lock:
        first = shared.next
        try:
            args, kwargs = list(map(shared.pack, args)), {key: shared.pack(x) for key, x in (kwargs or {}).items()}
            written = shared.changes()
        except Unsendable as error:
            shared.forget_from(first)
            raise TypeError('this cannot be given to the program: ' + str(error)) from None
        shared.agree()
        channel.send(to_json({'q': [op, subject, name, args, kwargs, [first, shared.in_use(), written]]}))
        reply = json.loads(channel.receive())
        try:
            value = shared.unpack(reply.get('v'))
            for n, content in reply.get('w', ()):
                shared.unpack(content, n)
        finally:
            shared.keep(reply.get('k', ()))
            shared.agree()
    if 'dead' in reply:
        raise ProgramEnded(reply['dead'])
    if sys.stdout is not tested['stdout']:  # the test captures printed text
        sys.stdout.write(reply.get('o', ''))
    if 'm' in reply:
        raise from_program(MemoryError(reply['m']))
    if 'x' in reply:
        raise exception(*reply['x'])
    return value


def from_program(error):
    error.__dict__['_from_program'] = True
    return error


def exception(ancestor, text, own, args, number):
    kind = stand_ins.get(own) or EXCEPTIONS[ancestor]
    if not issubclass(kind, (Exception, SystemExit)):
        return ProgramInterrupt(ancestor + ': ' + text)
    args = decode(args) if args is not None else (text,)
    try:
        error = kind.__new__(kind, *args)
        BaseException.__init__(error, *args) if own else error.__init__(*args)
    except Exception:
        error = Exception(text)
    if own:
        error.__dict__.update(_text=text, _subject=number)
    return from_program(error)


def give(x):
    """Returns the tag with which a request to S names an object that is not plain data."""
    kind = type(x)
    if isinstance(x, Held):
        return object.__getattribute__(x, '_subject')
    if isinstance(x, ClassOfProgram):
        return {'g': x.__name__}
    if isinstance(x, type) and stand_ins.get(x.__name__) is x:
        return {'g': x.__name__}
    if id(x) in BUILTIN_NAMES:
        return {'u': BUILTIN_NAMES[id(x)]}
    if isinstance(x, BaseException) and EXCEPTIONS.get(kind.__name__) is kind:
        return {'y': [kind.__name__, str(x)[:1000]]}
    if callable(x):
        raise Unsendable('functions and classes of the tests stay with the tests')
    raise Unsendable('a value of type ' + kind.__name__[:100] + ' is not plain data')


def take(tag, x):
    """Returns the stand-in of a name or of an object in S."""
    if tag == 'g':
        return stand_in(x)
    number, kind = x
    if number not in proxies:
        proxies[number] = Opaque({'h': x}, kind)
    return proxies[number]


shared = Shared(give, take)


class Held:
    """The base class of all stand-ins for objects in S."""

    def __setattr__(self, name, value):
        ask('set', self._subject, name, (value,))

    def __call__(self, *args, **kwargs):
        return ask('call', self._subject, None, args, kwargs)

    def __str__(self):
        return ask('op', None, 'str', (self,))


class Function(Held):
    """A public function of the program."""

    def __init__(self, name):
        self.__dict__.update(_subject={'g': name}, __name__=name, __qualname__=name, __module__='solution')

    def __getattr__(self, name):
        if name[:1] == '_' or name == 'pytestmark':
            raise AttributeError(name)
        return ask('get', self._subject, name)

    def __repr__(self):
        return '<function ' + self.__name__ + ' of the program>'


class Missing:
    """A name that the program does not define. Only using it is an error, so the number of tests stays the same."""

    def __init__(self, name, error=None):
        self.__dict__['_error'] = error or NameError('the program defines no ' + name)

    def __call__(self, *args, **kwargs):
        raise from_program(self._error)

    def __getattr__(self, name):
        if name[:2] == '__' or name == 'pytestmark':
            raise AttributeError(name)
        self()


class Method:
    """A method of a class or an object in S."""

    def __init__(self, subject, name):
        self.__dict__.update(_subject=subject, __name__=name)

    def __call__(self, *args, **kwargs):
        subject = self._subject
        value = ask('invoke', subject, self.__name__, args, kwargs)
        if 'g' in subject and type(value) is Opaque and value.__class__ is stand_ins.get(subject['g']):
            return constructed(value.__class__, value._subject)  # a class method that constructs an object
        return value


def attribute_of(subject, kind, name):
    if name[:2] == '__' or name == 'pytestmark':
        raise AttributeError(name)
    if kind is not None and name in kind._methods:
        return Method(subject, name)
    return ask('get', subject, name)


def forward(name):
    return lambda self, *args: ask('op', None, name, (self, *args))


def reflected(name):
    return lambda self, other: ask('op', None, name, (other, self))


def iterated(name):
    return lambda self: Iterator(ask('op', None, name, (self,)))


def copied(name):
    return lambda self, memo=None: constructed(type(self), ask('op', None, name, (self,))._subject)


SIGNS = {'eq': '==', 'ne': '!=', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=', 'contains': 'in', 'getitem': '[]'}


def refuse(name):
    def refused(self, *args):
        raise TypeError(
            f'the program returned an object of its class {self._kind}, which has no {SIGNS.get(name, name)} here, since its class '
            'would decide the test; compare its attributes, or let the program return plain data'
        )

    return refused


BINARY = 'add sub mul truediv floordiv mod pow matmul lshift rshift and or xor divmod'.split()
ORDER = 'lt le gt ge'.split()
UNARY = 'neg pos abs invert index len hash int float complex bytes iter next reversed floor ceil trunc copy'.split()
ITEMS = 'getitem setitem delitem contains round format'.split()
IN_PLACE = ['i' + name for name in BINARY if name != 'divmod']
OWN = ('_subject', '_kind')  # attributes that belong to the stand-in itself
KEYWORDS = {'and': 'and_', 'or': 'or_'}


class Opaque(Held):
    """An object that the program returned. It has attributes and methods only."""

    def __init__(self, subject, kind):
        self.__dict__.update(_subject=subject, _kind=kind)

    @property
    def __class__(self):
        known = stand_ins.get(self._kind) or (stand_in(self._kind) if self._kind in tested['names'] else None)
        return known if isinstance(known, ClassOfProgram) else Opaque

    def __getattr__(self, name):
        if name in OWN:
            raise AttributeError(name)
        kind = self.__class__
        return attribute_of(self._subject, kind if kind is not Opaque else None, name)

    def __repr__(self):
        return '<' + self._kind + ' object of the program>'


class Object(Held):
    """An object that the tests constructed. They examine its class, so operators are sent to it."""

    def __getattr__(self, name):
        if name in OWN:
            raise AttributeError(name)
        return attribute_of(self._subject, type(self), name)

    def __eq__(self, other):
        return ask('op', None, 'eq', (self, other)) is True if is_of_program(other) else False

    def __ne__(self, other):
        return ask('op', None, 'ne', (self, other)) is True if is_of_program(other) else True

    def __enter__(self):
        return again(self, ask('op', None, 'enter', (self,)))

    def __exit__(self, kind, error, trace):
        if error is None:
            return bool(ask('op', None, 'exit', (self, None, None, None)))
        known = next(one for one in type(error).__mro__ if EXCEPTIONS.get(one.__name__) is one)
        return bool(ask('op', None, 'exit', (self, None, known(str(error)), None)))

    __iter__, __reversed__, __dir__ = iterated('iter'), iterated('reversed'), forward('dir')
    __repr__, __copy__, __deepcopy__ = forward('repr'), copied('copy'), copied('deepcopy')


class Iterator:
    """An iterator over an object that the tests constructed."""

    def __init__(self, of):
        self.of = of

    def __iter__(self):
        return self

    def __next__(self):
        return ask('op', None, 'next', (self.of,))


def is_of_program(x):
    return isinstance(type(x), ClassOfProgram)


def again(self, value):
    return self if type(value) is Opaque and value._subject['h'][0] == self._subject['h'][0] else value


def in_place(name):
    return lambda self, other: again(self, ask('op', None, name, (self, other)))


def fill_operators():
    for name in UNARY + BINARY + IN_PLACE + ORDER + ITEMS + 'eq ne enter exit'.split():
        setattr(Opaque, f'__{name}__', refuse(name))
    Opaque.__bool__ = Object.__bool__ = forward('bool')  # the program could as well have returned True or False
    for name in BINARY:
        setattr(Opaque, f'__r{name}__', refuse(name))
        setattr(Object, f'__r{name}__', reflected(KEYWORDS.get(name, name)))
    for name in UNARY + BINARY + ITEMS:
        if f'__{name}__' not in vars(Object) or name == 'hash':
            setattr(Object, f'__{name}__', forward(KEYWORDS.get(name, name)))
    for name in IN_PLACE:
        setattr(Object, f'__{name}__', in_place(name))
    for name in ORDER:  # an object of the program has no order with plain data
        asked = forward(name)
        setattr(Object, f'__{name}__', lambda self, other, asked=asked: asked(self, other) if is_of_program(other) else NotImplemented)


fill_operators()


class ClassOfProgram(type):
    """A public class of the program."""

    def __new__(meta, name, bases, namespace, known=None):
        if known is None:
            raise TypeError('tests cannot derive from a class of the program')
        made = type.__new__(meta, name, bases, {'__module__': 'solution'})
        type.__setattr__(made, '_methods', frozenset(known))
        return made

    def __init__(cls, name, bases, namespace, known=None):
        pass

    def __call__(cls, *args, **kwargs):
        return constructed(cls, ask('new', {'g': cls.__name__}, None, args, kwargs)._subject)

    def __getattr__(cls, name):
        return attribute_of({'g': cls.__name__}, cls, name)

    def __bool__(cls):
        return True

    __iter__, __len__, __getitem__ = iterated('iter'), forward('len'), forward('getitem')


def constructed(cls, subject):
    number = subject['h'][0]
    if not isinstance(type(proxies.get(number)), ClassOfProgram):
        proxies[number] = object.__new__(cls)
        proxies[number].__dict__.update(_subject=subject, _kind=cls.__name__)
    return proxies[number]


def exception_class(name, ancestors):
    base = next((stand_ins.get(one) or EXCEPTIONS.get(one) for one in ancestors if one in stand_ins or one in EXCEPTIONS), Exception)

    def text(self):
        return self.__dict__['_text'] if '_text' in self.__dict__ else base.__str__(self)

    def get(self, key):
        if key[:1] == '_' or '_subject' not in self.__dict__:
            raise AttributeError(key)
        return ask('get', self._subject, key)

    return type(name, (base,), {'__module__': 'solution', '__str__': text, '__getattr__': get})


def stand_in(name):
    """Returns the stand-in of a public name. A plain constant is asked for anew each time, because it may change."""
    if name in stand_ins:
        return stand_ins[name]
    if name not in tested['names']:
        return Missing(name)
    kind, detail = tested['names'][name]
    if kind in 'vo':
        try:
            return ask('value', {'g': name}, None)
        except Exception as error:  # the other names stay usable
            return Missing(name, error)
    if kind == 'f':
        made = Function(name)
    elif kind == 'x':
        made = exception_class(name, detail)
    elif kind == 'c':
        methods, line = detail
        bases = [stand_in(one) for one in line[:1] if one != name]
        bases = tuple(base for base in bases if isinstance(base, ClassOfProgram)) or (Object,)
        made = ClassOfProgram(name, bases, {}, known=methods)
    else:
        made = own_module(name, kind, detail)
    return stand_ins.setdefault(name, made)


# Modules with exceptions that control a test run, or with objects that equal anything. Tests do not get them from a program.
STEERING = ('unittest', 'doctest', 'bdb', 'pdb', 'test', 'idlelib', 'antigravity', 'this')


def own_module(name, kind, home):
    """Returns what the program imported from the standard library: a module, class or function, imported anew in T."""
    top = home.split('.')[0]
    if top in STEERING or top not in {*sys.stdlib_module_names, 'numpy'} or '.__' in home:
        return Missing(name)
    try:
        value = importlib.import_module(home)
    except ImportError:
        return Missing(name)
    if kind == 'i':
        value = getattr(value, name, None)
        is_known = isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) or type(value).__module__ == 'typing'
        is_known = is_known and str(getattr(value, '__module__', '')).split('.')[0] not in STEERING
        return value if is_known else Missing(name)
    return value


class Solution(types.ModuleType):
    def __getattr__(self, name):
        if name == '__all__':  # a star import replaces nothing that the importing module already has
            return shown_names(sys._getframe(1).f_globals)
        if not is_public(name, tested['entry']) or name == 'pytestmark':
            raise AttributeError(name)
        return stand_in(name)

    def __dir__(self):
        return shown_names(sys._getframe(1).f_globals)


def shown_names(bound=()):
    """Returns the names of the program that tests see without importing each one. Only the entry may replace a builtin or a
    name of the tests. Names that a test runner obeys, such as setup, are left out."""
    kept = {*vars(builtins), *tested['own'], *bound}
    obeyed = re.compile('test|(setup|teardown)_?(module|class|function|method)?$|load_tests$|collect_ignore', re.I).match
    used = [name for name in tested['names'] if name in tested['words']]
    return [name for name in used if name == tested['owner'] or name not in kept and not obeyed(name)]


def read_imports(imports):
    """Binds the names that the problem itself imports, so that the program cannot replace them. A `del` in this code names
    what the reference defines: the program provides it. Names that do not occur in the tests are not imported."""
    given = {}
    for node in ast.parse(imports).body:
        bound = {(one.asname or one.name).partition('.')[0] for one in getattr(node, 'names', ())}
        try:
            if bound & {'*', *tested['words']}:
                exec(compile(ast.Module([node], []), 'imports', 'exec'), given)
        except Exception as error:
            given.update((name, Missing(name, error)) for name in bound)
        for one in getattr(node, 'targets', ()):
            tested['own'].discard(one.id)
            given.pop(one.id, None)
    for name, x in given.items():
        if is_public(name, None):
            tested['names'][name], stand_ins[name] = ('i', None), x


def open_solution(names, entry):
    """Installs the module `solution`. `names` is None if the program did not load."""
    tested.update(entry=entry, owner=(entry or '').partition('.')[0], stdout=sys.stdout)
    for name, kind, detail in names or ():
        if is_public(name, entry):  # the program may name no others
            tested['names'][name] = (kind, detail)
    for name, (kind, _) in tested['names'].items():
        if kind == 'x':
            stand_in(name)
    sys.modules['solution'] = Solution('solution')
