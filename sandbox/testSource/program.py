# Runs in S, the process of the program. It loads one program and answers requests about its public names, one at a time. It
# never sees a test. An answer is plain data, a name, or the number of an object that stays here. The host checks every
# answer before a test sees it.
import copy
import math
import operator

SMALL = 4096  # bytes; a constant up to this size is sent together with its name
MAX_OBJECTS = 10_000
MOST_PRINTED = 1_000_000  # the most characters that the tests can capture from one call
mro_of = type.__dict__['__mro__'].__get__
dict_of = type.__dict__['__dict__'].__get__
is_method = (types.FunctionType, staticmethod, classmethod)

OPERATORS = {
    name: getattr(operator, name)
    for name in (
        'eq ne lt le gt ge add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor neg pos abs invert '
        'index contains getitem setitem delitem iadd isub imul itruediv ifloordiv imod ipow imatmul ilshift irshift '
        'iand ior ixor'
    ).split()
}
OPERATORS.update(
    len=len, bool=bool, str=str, repr=repr, hash=hash, int=int, float=float, complex=complex, bytes=bytes, round=round,
    format=format, divmod=divmod, reversed=reversed, iter=iter, next=next, floor=math.floor, ceil=math.ceil,
    trunc=math.trunc, copy=copy.copy, deepcopy=copy.deepcopy, dir=dir,
    enter=lambda x: type(x).__enter__(x), exit=lambda x, *error: type(x).__exit__(x, *error),
)  # fmt: skip
STAYS = ('iter', 'reversed')  # the result of these operators stays here as an object


class Printed:
    """The program's standard output. It keeps the text that one request prints, because the tests may capture it."""

    def __init__(self, stream):
        self.stream, self.kept, self.size = stream, [], 0

    def write(self, text):
        written = self.stream.write(text)
        if self.size < MOST_PRINTED:
            self.kept.append(text[: MOST_PRINTED - self.size])
            self.size += len(text)
        return written

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def take(self):
        text, self.kept, self.size = ''.join(self.kept), [], 0
        return {'o': text} if text else {}


class Program:
    """The namespace of a loaded program, and its objects that the tests refer to by number."""

    def __init__(self, namespace, entry, first, provided, printed):
        self.namespace, self.entry, self.provided, self.printed = namespace, entry, provided, printed
        self.first, self.objects, self.numbers = first, [], {}
        self.shared = Shared(self.foreign, self.resolve)

    # ---- names ----
    def public(self):
        """Returns the public names and their values, without names that this file provided (INTERVIEW)."""
        return [
            (name, x)
            for name, x in list(self.namespace.items())
            if is_public(name, self.entry) and not (name in self.provided and self.provided[name] is x)
        ]

    def names(self):
        """Returns [name, kind, detail] for every public name. Kinds: f function, c class, x exception class, v plain
        constant, m module, i imported from the standard library, o another object."""
        found, kinds = [], {}
        for name, x in self.public():
            if name.isidentifier():
                kinds.setdefault(id(x), name)
                found.append((name, x))
        entries = [self.record(name, x, kinds) for name, x in found]
        return sorted(entries, key=lambda entry: len(entry[2]) if entry[1] == 'x' else 0)

    def record(self, name, x, kinds):
        kind = type(x)
        if issubclass(kind, types.ModuleType):
            return [name, 'm', str(getattr(x, '__name__', ''))]
        is_named = issubclass(kind, (type, types.BuiltinFunctionType, types.FunctionType)) or kind.__module__ == 'typing'
        home = getattr(x, '__module__', None) if is_named else None
        if type(home) is str and home != 'solution' and vars(sys.modules.get(home, types)).get(name) is x:
            return [name, 'i', home]
        if issubclass(kind, type):
            line = mro_of(x)
            if BaseException in line:
                return [name, 'x', [self.base_name(base, kinds) for base in line[1:] if self.base_name(base, kinds)]]
            methods = {
                key for one in line if one is not object for key, y in dict_of(one).items() if isinstance(y, is_method)
            }
            line = [kinds[id(one)] for one in line[1:] if id(one) in kinds]
            return [name, 'c', [sorted(key for key in methods if type(key) is str and key[:2] != '__'), line]]
        if callable(x):
            return [name, 'f', None]
        try:
            text = to_json(Shared(self.foreign, None).pack(x))
        except BaseException:
            return [name, 'o', None]
        if '{"h":' in text:
            return [name, 'o', None]
        return [name, 'v', json.loads(text) if len(text) <= SMALL else None]

    def base_name(self, base, kinds):
        name = type.__getattribute__(base, '__name__')
        return name if EXCEPTIONS.get(name) is base else kinds.get(id(base))

    # ---- encoding ----
    def foreign(self, x):
        """Returns the tag of an object that is not plain data: its public name, or its number here."""
        kind = type(x)
        if issubclass(kind, types.GeneratorType):
            raise Unsendable('a generator is not plain data: return a list')
        if issubclass(kind, (types.CoroutineType, types.AsyncGeneratorType)):
            raise Unsendable('asynchronous functions are not supported')
        if issubclass(kind, types.ModuleType):
            raise Unsendable('a module is not plain data')
        name = getattr(x, '__name__', None) if issubclass(kind, (type, types.FunctionType)) else None
        if is_public(name, self.entry) and self.namespace.get(name) is x:
            return {'g': name}
        return self.keep(x)

    def keep(self, x):
        number = self.numbers.get(id(x))
        if number is None:
            if len(self.objects) >= MAX_OBJECTS:
                raise Unsendable('too many objects')
            number = self.numbers[id(x)] = self.first + len(self.objects)
            self.objects.append(x)
        return {'h': [number, type.__getattribute__(type(x), '__name__')[:100]]}

    def resolve(self, tag, x):
        if tag == 'h':
            if not 0 <= x[0] - self.first < len(self.objects):
                raise ReferenceError('this object was lost when the program ended')
            return self.objects[x[0] - self.first]
        if tag == 'y':
            return EXCEPTIONS[x[0]](x[1])
        if not is_public(x, self.entry) or x not in self.namespace:
            raise NameError('the program defines no ' + x)
        return self.namespace[x]

    # ---- requests ----
    def perform(self, op, subject, name, args, kwargs):
        if op == 'op':
            return OPERATORS[name](*args)
        x = self.resolve(*next(iter(subject.items())))
        if op == 'value':
            return x
        if op == 'get':
            return getattr(x, name)
        if op == 'set':
            return setattr(x, name, args[0])
        return (getattr(x, name) if op == 'invoke' else x)(*args, **kwargs)

    def answer(self, text):
        """Answers one request [op, subject, name, args, kwargs, state]. Both are JSON texts."""
        try:
            answer = to_json({**self.reply(text), **self.printed.take()})
            if len(answer) > MESSAGE_BYTES:
                raise Unsendable('the value is too large')
            return answer
        except BaseException as error:
            return to_json(self.describe(error))

    def reply(self, text):
        try:
            reply = self.exchange(*json.loads(text))
        except BaseException as error:
            reply = self.describe(error)
        return {**reply, 'k': self.shared.in_use()}

    def exchange(self, op, subject, name, args, kwargs, state):
        """Applies the changes that the tests made to containers, performs a request, and returns the program's changes."""
        shared, (first, known, written) = self.shared, state
        shared.forget_from(first)
        args, kwargs = list(map(shared.unpack, args)), {key: shared.unpack(x) for key, x in kwargs.items()}
        for n, content in written:
            if type(shared.known[n]) not in MUTABLE:
                raise Unsendable('the tests change a plain copy of an object whose class is the program\'s own')
            shared.unpack(content, n)
        shared.keep(known)
        shared.agree()
        first = shared.next
        try:
            value = self.perform(op, subject, name, args, kwargs)
            stays = op == 'new' or (op == 'op' and name in STAYS)
            reply = {'v': self.keep(value) if stays else shared.pack(value)}
        except BaseException as error:
            shared.forget_from(first)
            reply = self.describe(error)
        written = shared.changes()
        shared.agree()
        return {**reply, 'w': written} if written else reply

    def describe(self, error):
        """Describes a raised exception: its nearest builtin class, text, nearest public class, arguments, number here."""
        try:
            if isinstance(error, MemoryError):
                return {'m': 'MemoryError'}
            kind = type(error)
            if kind is Unsendable:
                return {'x': ['TypeError', str(error), None, None, None]}
            line = mro_of(kind)
            known = next((one for one in line if EXCEPTIONS.get(one.__name__) is one), BaseException)
            own = next((name for one in line[: line.index(known)] for name, x in self.public() if x is one), None)
            try:
                text = str.__str__(str(error))[:1000]
            except Exception:
                text = ''
            try:
                args = encode(tuple.__getitem__(error.args, slice(None)), 0, [1000, 10_000])
            except BaseException:
                args = None
            BaseException.with_traceback(error, None)  # the traceback would keep the arguments in use
            return {'x': [known.__name__, text, own, args, self.keep(error) if own else None]}
        except MemoryError:
            return {'m': 'MemoryError'}
        except BaseException:
            return {'x': ['Exception', 'an exception that cannot be described', None, None, None]}


def load_module(code, entry):
    """Executes a program as module `solution`. Raises what the program raises. A program with an entry Class.method has the
    names and the recursion limit of the interview format."""
    seed_random(0)  # the same program gives the same answer in every run
    module = types.ModuleType('solution')
    sys.modules['solution'] = sys.modules['__main__'] = module
    first, _, method = (entry or '').partition('.')
    if method:
        module.__dict__.update((name, x) for name, x in INTERVIEW.items() if name != first)
        sys.setrecursionlimit(CONTEST_DEPTH)
    exec(compile(code, 'solution.py', 'exec'), module.__dict__)
    return module


def open_program(code, entry, first):
    """Loads a program. Returns the function that answers requests, and the first message: {"names": …}, or why it failed."""
    try:
        sys.stdout = printed = Printed(sys.stdout)
        namespace = load_module(code, entry).__dict__
        printed.take()
        program = Program(namespace, entry, first, INTERVIEW if '.' in (entry or '') else {}, printed)
        text = to_json({'names': program.names()})
        if len(text) > MAX_BYTES:
            raise Unsendable('the program has too many names')
        return program.answer, text
    except BaseException as error:
        return None, failure(error)


def converse(job):
    """Runs one session: sends the names, then answers every request."""
    answer, first = open_program(job['code'], job['entry'], job['first'])
    channel.send(first)
    while answer is not None:
        channel.send(answer(channel.receive()))
