# The messages between T (the process of the tests) and S (the process of the program). Each side makes its own objects from
# plain data, so nothing executable passes from one to the other.
#
# Containers that can change (lists, dicts, sets) exist on both sides, and each side may change its own:
# - A container gets the next number when a message first has it. Both sides count alike; later messages name the number.
# - Before it sends, a side compares its containers with the items that both sides knew after the last message. The message
#   has the changed containers, and the receiver gives its own containers the same items.
# - A message lists the numbers that its sender still uses. The receiver forgets the others.
# - If a message fails, the numbers that it gave are taken back.
#
# Values have the tags of values mode (core/schema/value.ts), and these:
#   {"r": n} the container with number n    {"h": [id, class]} an object that stays in S    {"y": [name, text]} builtin exception
#   {"a": text} bytearray    {"k": [name, arguments of its constructor, items]} another class of KINDS or VALUES
#   {"z": []} frozenset    {"q": [a, b, c]} range    {"l": [a, b, c]} slice
#   {"g": name} a public name of the program    {"u": name} a builtin function or type
import builtins
import collections
import importlib
import operator
import sys

# The limits of one message. They are above those of an answer in values mode, because the host does not keep messages. A
# frame has room for twice as many bytes, because JSON inside JSON is escaped.
MESSAGE_BYTES = 30 << 20
MESSAGE_NODES = 2_000_000

BUILTINS = {
    name: vars(builtins)[name]
    for name in (
        'abs all any ascii bin bool bytes chr complex dict divmod enumerate filter float format frozenset hash hex int '
        'len list map max min oct ord pow range repr reversed round set slice sorted str sum tuple type zip'
    ).split()
}
BUILTIN_NAMES = {id(x): name for name, x in BUILTINS.items()}
EXCEPTIONS = {
    name: kind for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
}
KINDS = {name: vars(collections)[name] for name in ('OrderedDict', 'Counter', 'defaultdict', 'deque')}
OWN_TAG = {'': list, 'd': dict, 's': set, 'a': bytearray}
MUTABLE = (*KINDS.values(), *OWN_TAG.values())
VALUES = {  # the module that defines each class
    **dict.fromkeys(('datetime', 'date', 'time', 'timedelta', 'timezone'), 'datetime'), 'Decimal': 'decimal', 'Fraction': 'fractions',
    **dict.fromkeys('bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32'.split(), 'numpy'),
}  # fmt: skip
FIXED = {'t': tuple, 'z': frozenset, 'q': lambda x: range(*x), 'l': lambda x: slice(*x)}
is_identical, references = operator.is_, sys.getrefcount


def is_public(name, entry):
    """Whether the tests may use this name of the program. Of the names with an underscore, only the entry is public. Names
    such as `pytest_plugins` are not, because pytest obeys them."""
    if type(name) is not str or name[:6] == 'pytest':
        return False
    return name[:1] != '_' or name[:2] != '__' and name == (entry or '').partition('.')[0]


def contents(container):
    kind = next(kind for kind in MUTABLE if isinstance(container, kind))
    return [*kind.__iter__(container), *(kind.values(container) if issubclass(kind, dict) else ())]


class Shared:
    """The messages of one side, and the mutable containers that both sides have, by number."""

    def __init__(self, foreign, meaning):
        """`foreign(x)` returns the tag of an object or raises. `meaning(tag, x)` returns the object that a tag names."""
        self.foreign, self.meaning = foreign, meaning
        self.known, self.next = {}, 0  # the containers by number, and the next number
        self.numbers = {}  # the number of each container by its id()
        self.seen = {}  # the items that both sides knew after the last message, by number

    def add(self, container):
        self.known[self.next], self.numbers[id(container)] = container, self.next
        self.next += 1
        return container

    def agree(self):
        """Records that both sides now know the items of all containers."""
        for n in self.known.keys() - self.seen.keys():
            self.seen[n] = contents(self.known[n])

    def changes(self):
        """Returns [number, content] for each container that has changed since both sides knew its items."""
        now = {n: contents(self.known[n]) for n in self.seen}
        changed = [n for n, x in now.items() if len(x) != len(self.seen[n]) or not all(map(is_identical, x, self.seen[n]))]
        written = [[n, self.pack(self.known[n], lambda *part: self.other(*part, part[1] > 0))] for n in changed]
        self.seen.update((n, now[n]) for n in changed)
        return written

    def in_use(self):
        """Forgets containers to which this side has no other reference. Returns the numbers of the others."""
        self.keep([n for n in self.known if references(self.known[n]) > 2])  # `known` and this call have one reference each
        return list(self.known)

    def keep(self, numbers):
        for n in self.known.keys() - {*numbers}:
            self.seen.pop(n, None)
            del self.numbers[id(self.known.pop(n))]

    def forget_from(self, first):
        """Takes back the numbers from `first` on, because the message that gave them failed."""
        self.keep([n for n in self.known if n < first])
        self.next = first

    def pack(self, value, other=None):
        return encode(value, 0, [MESSAGE_NODES, MESSAGE_BYTES], other or self.other)

    def other(self, value, depth, budget, is_part=True):
        kind = type(value)

        def each(items):
            return [encode(x, depth + 1, budget, self.other) for x in items]

        if issubclass(kind, MUTABLE):
            if is_part and id(value) in self.numbers:
                return {'r': self.numbers[id(value)]}
            if is_part:
                self.add(value)
            if issubclass(kind, bytearray):
                return {'a': encode(bytes(value), depth, budget)['b']}
            if kind in KINDS.values():
                arguments = () if kind is KINDS['Counter'] else value.__reduce__()[1]
                items = map(each, value.items()) if issubclass(kind, dict) else each(value)
                return {'k': [kind.__name__, each(arguments), list(items)]}
            return None
        if issubclass(kind, frozenset):
            return {'z': each(frozenset.__iter__(value))}
        if issubclass(kind, (tuple, bytes, complex)):
            return None
        if kind is range or kind is slice:
            return {'q' if kind is range else 'l': each((value.start, value.stop, value.step))}
        if VALUES.get(type.__getattribute__(kind, '__name__'), 0) == kind.__module__:
            return {'k': [kind.__name__, each((value.item(),) if kind.__module__ == 'numpy' else value.__reduce__()[1]), []]}
        return self.foreign(value)

    def unpack(self, value, number=None):
        """Makes new objects from an encoded value. With `number`, gives its items to the container with that number."""
        if not isinstance(value, (list, dict)):
            return value
        ((tag, x),) = (('', value),) if isinstance(value, list) else value.items()
        if tag == 'k' and x[0] in VALUES:
            kind = getattr(importlib.import_module(VALUES[x[0]]), x[0])
            made = kind(*map(self.unpack, x[1]))
            if type(made) is not kind:  # numpy makes an array from a list
                raise TypeError('the program answered with an invalid ' + x[0])
            return made
        if tag in OWN_TAG or tag == 'k':
            name, arguments, items = x if tag == 'k' else ('', (), x)
            return self.unpack_container(KINDS[name] if name else OWN_TAG[tag], arguments, items, number)
        if tag in FIXED:
            return FIXED[tag](map(self.unpack, x))
        if tag == 'r':
            return self.known[x]
        if tag == 'u':
            return BUILTINS[x]
        return self.meaning(tag, x) if tag in 'ghy' else decode(value)

    def unpack_container(self, kind, arguments, items, number):
        out = self.add(kind(*map(self.unpack, arguments))) if number is None else self.known[number]
        self.seen.pop(number, None)
        if not isinstance(out, kind):
            raise TypeError('the program answered with another kind of container')
        if issubclass(kind, dict):
            items = {self.unpack(key): self.unpack(x) for key, x in items}
        else:
            items = base64.b64decode(items) if kind is bytearray else list(map(self.unpack, items))
        out.clear()
        out.update(items) if issubclass(kind, (dict, set)) else out.extend(items)
        return out
