# The messages between tests (T) and a program (S) in two processes: tagged values with further tags
#   {"r": k}  the k-th list, dict or set of this request, so that identity and mutation survive the way there and back
#   {"z": []} frozenset    {"q": [a, b, c]} range    {"l": [a, b, c]} slice    {"y": [name, text]} builtin exception
#   {"g": name} a public name of the program    {"u": name} a builtin function or type    {"h": [id, class]} an object
#   that stays in S.
# Each side decodes into objects of its own: nothing executable crosses.
import builtins

# Limits of one message, above those of an answer in values mode, since the host does not keep messages. A frame has
# room for twice as many bytes, since JSON in JSON is escaped.
MESSAGE_BYTES = 30 << 20
MESSAGE_NODES = 2_000_000

BUILTINS = {
    name: vars(builtins)[name]
    for name in (
        'abs all any ascii bin bool bytes chr complex dict divmod enumerate filter float format frozenset hash hex int '
        'len list map max min oct ord pow range repr reversed round set slice sorted str sum tuple type zip'
    ).split()
}
EXCEPTIONS = {
    name: kind for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
}
MUTABLE = (list, dict, set)


def is_public(name, entry):
    """Whether the tests may name it: the entry (`f`, `Class.f`) may begin with an underscore. Pytest obeys what is named so."""
    if type(name) is not str or name[:6] == 'pytest':
        return False
    return name[:1] != '_' or name[:2] != '__' and name == (entry or '').partition('.')[0]


class Packer:
    """Encodes one message. `refs`: the mutable containers found so far; `foreign` returns the tag of an object, or
    None."""

    def __init__(self, refs, foreign, learn):
        self.refs, self.foreign, self.learn = refs, foreign, learn
        self.places = {id(x): k for k, x in enumerate(refs)}

    def pack(self, value):
        return encode(value, 0, [MESSAGE_NODES, MESSAGE_BYTES], self.other)

    def content(self, container):
        """Encodes one mutable container itself, not a reference to it."""
        self.inside = container
        return self.pack(container)

    inside = None

    def other(self, value, depth, budget):
        kind = type(value)
        if issubclass(kind, MUTABLE):
            if self.inside is value and depth == 0:
                return None
            place = self.places.get(id(value))
            if place is not None:
                return {'r': place}
            if self.learn:
                self.places[id(value)] = len(self.refs)
                self.refs.append(value)
            return None
        if issubclass(kind, frozenset):
            return {'z': [encode(x, depth + 1, budget, self.other) for x in frozenset.__iter__(value)]}
        if issubclass(kind, (tuple, bytes, bytearray, complex)):
            return None
        if kind is range or kind is slice:
            parts = (value.start, value.stop, value.step)
            return {'q' if kind is range else 'l': [encode(x, depth + 1, budget, self.other) for x in parts]}
        return self.foreign(value)


def unpack(value, refs, foreign, learn):
    """Makes fresh objects from an encoded value. `foreign(tag, x)` returns the stand-in of a name, object or
    exception."""
    if isinstance(value, list):
        out = []
        if learn:
            refs.append(out)
        out.extend([unpack(x, refs, foreign, learn) for x in value])
        return out
    if not isinstance(value, dict):
        return value
    ((tag, x),) = value.items()
    if tag == 's':
        out = set()
        if learn:
            refs.append(out)
        out.update([unpack(y, refs, foreign, learn) for y in x])
        return out
    if tag == 'd':
        out = {}
        if learn:
            refs.append(out)
        for key, y in x:
            key = unpack(key, refs, foreign, learn)
            out[key] = unpack(y, refs, foreign, learn)
        return out
    if tag == 't':
        return tuple([unpack(y, refs, foreign, learn) for y in x])
    if tag == 'z':
        return frozenset([unpack(y, refs, foreign, learn) for y in x])
    if tag == 'r':
        return refs[x]
    if tag == 'q' or tag == 'l':
        return (range if tag == 'q' else slice)(*[unpack(y, refs, foreign, learn) for y in x])
    if tag == 'u':
        return BUILTINS[x]
    if tag in 'ghy':
        return foreign(tag, x)
    return decode(value)


def replace(container, content):
    """Replaces the content of a container, which stays the same object."""
    if isinstance(container, list):
        container[:] = content
    else:
        container.clear()
        container.update(content)
