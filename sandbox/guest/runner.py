# Turns the answers of a program into plain data. The fork server and the WebAssembly guest share it. It knows inputs but
# never an expected value. It has its own copy of the builtins, so a program that replaces `len` breaks only itself.
import base64
import json
import random
import sys
import types

MAX_BYTES = 1 << 20  # the most bytes of one answer in JSON
MAX_DEPTH = 64
MAX_NODES = 200_000
SAFE = (1 << 53) - 1  # larger ints are sent as hex


def json_writer():
    """Returns a function that writes JSON without spaces. One encoder for all calls saves about 10 % of a short program's
    CPU time."""
    library = json.JSONEncoder(separators=(',', ':'), check_circular=False)
    if json.encoder.c_make_encoder is None:
        return library.encode
    encoder = json.encoder.c_make_encoder(
        None, library.default, json.encoder.encode_basestring_ascii, None, ':', ',', False, False, True
    )
    join = ''.join
    return lambda value: join(encoder(value, 0))


def json_reader():
    """Returns a function that reads the JSON value at the start of a text and ignores the rest."""
    scan = json.JSONDecoder().scan_once
    return lambda text: scan(text, 0)[0]


to_json = json_writer()
from_json = json_reader()


def seed_random(seed):
    """Seeds random and, if it was loaded before the program, numpy."""
    random.seed(seed)
    if 'numpy' in sys.modules:
        sys.modules['numpy'].random.seed(seed)


class Unsendable(Exception):
    """The value is not plain data, or too large."""


def encode(value, depth, budget, other=None):
    """Returns a Python value as tagged JSON. It calls methods of the base classes only, so that no method of the program
    runs. `other(value, depth, budget)` is asked first about each value that is not a number or text."""
    budget[0] -= 1
    if budget[0] < 0:
        raise Unsendable('the value has too many parts')
    if depth > MAX_DEPTH:
        raise Unsendable('the value is nested too deeply')
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if issubclass(kind, int):
        plain = int.__index__(value)
        if -SAFE <= plain <= SAFE:
            return plain
        spend(budget, plain.bit_length() // 4)
        return {'i': hex(plain)}
    if issubclass(kind, float):
        return {'f': float.__repr__(value)}
    if issubclass(kind, str):
        spend(budget, str.__len__(value))
        plain = str.__str__(value)
        if not str.isascii(plain) and has_surrogate_pair(plain):
            raise Unsendable('the text contains two surrogates that JSON would join to one character')
        return plain
    if other is not None:
        special = other(value, depth, budget)
        if special is not None:
            return special
    if issubclass(kind, list):
        return [encode(x, depth + 1, budget, other) for x in list.__iter__(value)]
    if issubclass(kind, tuple):
        return {'t': [encode(x, depth + 1, budget, other) for x in tuple.__iter__(value)]}
    if issubclass(kind, dict):
        return {
            'd': [
                [encode(k, depth + 1, budget, other), encode(x, depth + 1, budget, other)]
                for k, x in dict.items(value)
            ]
        }
    if issubclass(kind, (set, frozenset)):
        base = set if issubclass(kind, set) else frozenset
        return {'s': [encode(x, depth + 1, budget, other) for x in base.__iter__(value)]}
    if issubclass(kind, (bytes, bytearray)):
        base = bytes if issubclass(kind, bytes) else bytearray
        spend(budget, base.__len__(value))
        return {'b': base64.b64encode(base.__getitem__(value, slice(None))).decode()}
    if issubclass(kind, complex):
        return {'c': [float.__repr__(complex.real.__get__(value)), float.__repr__(complex.imag.__get__(value))]}
    raise Unsendable(refusal(kind))


# These functions read attributes without running code of the program.
bases_of = type.__dict__['__mro__'].__get__
names_of = type.__dict__['__dict__'].__get__


def entry_of(names, name):
    """Looks up a name in a dict. Skips keys of subclasses of str, because their __eq__ is code of the program."""
    for key, value in dict.items(names) if isinstance(names, dict) else names.items():
        if type(key) is str and key == name:
            return True, value
    return False, None


def refusal(kind):
    shown = 'a value of type ' + type.__repr__(kind)[:100]
    lazy = kind in (range, type({}.keys()), type({}.values()), type({}.items()), memoryview)
    if lazy or any(entry_of(names_of(base), '__next__')[0] for base in bases_of(kind)):
        return shown + ' is not a finished answer: return a list, not an iterator, generator, range or view'
    return shown + ' is not plain data'


def has_surrogate_pair(text):
    """Whether a text has two surrogates that UTF-16, and so JSON, would join to one character."""
    units = str.encode(text, 'utf-16-le', 'surrogatepass')
    return bytes.decode(units, 'utf-16-le', 'surrogatepass') != text


def spend(budget, size):
    budget[1] -= size
    if budget[1] < 0:
        raise Unsendable('the value is too large')


def decode(value):
    """Makes a fresh Python value from tagged JSON."""
    if isinstance(value, list):
        return [decode(x) for x in value]
    if isinstance(value, dict):
        ((tag, x),) = value.items()
        if tag == 'i':
            return int(x, 16)
        if tag == 'f':
            return float(x)
        if tag == 't':
            return tuple([decode(y) for y in x])
        if tag == 's':
            return {freeze(decode(y)) for y in x}
        if tag == 'd':
            return {freeze(decode(k)): decode(y) for k, y in x}
        if tag == 'b':
            return base64.b64decode(x)
        if tag == 'c':
            return complex(float(x[0]), float(x[1]))
    return value


def freeze(value):
    """Makes an element of a set or a key of a dict hashable: the codec has one tag for set and frozenset."""
    if isinstance(value, set):
        return frozenset(value)
    return tuple([freeze(x) for x in value]) if isinstance(value, tuple) else value


def failure(error):
    """Reports a raised exception as JSON. Its __str__ is code of the program, which may do anything."""
    try:
        if isinstance(error, MemoryError):
            return '{"m":"MemoryError"}'
        name = type.__getattribute__(type(error), '__name__')[:100]
        try:
            text = str.__str__(str(error))[:300]
        except Exception:
            text = ''
        return to_json({'e': name + ': ' + text if text else name})
    except MemoryError:
        return '{"m":"MemoryError"}'
