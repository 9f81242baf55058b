"""Makes inputs: changes one place at a time, and begins with the annotations of a function where no input is known."""

import ast
import itertools
import math

MOST_EXAMPLES = 60


class _Letter(int):
    """A character of a text, as the number that the search moves."""


class _Pool:
    """Changes inputs. Draws values from the known inputs and from the constants of the sources."""

    def __init__(self, sources, known):
        constants = [node.value for source in sources for node in _nodes(source) if isinstance(node, ast.Constant)]
        leaves = [value for args in known for _, value in _leaves(args) if not isinstance(value, _Letter)]
        numbers = [value for value in [*constants, *leaves] if _is_number(value) and math.isfinite(value)]
        near = [number + by for number in numbers for by in (-1, 1)]
        self.mixes = any("isinstance(" in source for source in sources)  # arguments may have several types
        self.values = {}
        for value in [*leaves, *constants, *near, *map(str, numbers), 0, 1, "", "a", *([True, None] if self.mixes else [])]:
            self.values.setdefault(type(value), []).append(value)
        self.letters = sorted({*"".join(self.values[str]), *"aZ0 (-,"})
        self.most = 2 * max([500, *map(abs, numbers)])  # the largest size of a number
        self.longest = 2 * max([4, *[len(value) for value in leaves if isinstance(value, (str, list, tuple))]])
        self.known = known

    def allows(self, value):
        if isinstance(value, _Letter):
            return 32 <= value < 127 or chr(max(0, value)) in self.letters
        return not _is_number(value) or abs(value) <= self.most

    def moved(self, args, random):
        """A copy with one change, or with two."""
        for _ in range(random.choice([1, 1, 2])):
            places = _leaves(args)
            if not places:
                break
            path, value = random.choice(places)
            is_argument = len(path) == 1 and random.random() < 0.1
            new = random.choice(self.known)[path[0]] if is_argument else self._other(value, random)
            if self.allows(new):
                args = _put(args, path, new)
        return args

    def _other(self, value, random):
        """Another value, of the same type unless the sources ask for types."""
        if isinstance(value, _Letter):
            return _Letter(ord(random.choice(self.letters)))
        if self.mixes and random.random() < 0.1:
            return random.choice(random.choice(list(self.values.values())))
        if isinstance(value, bool):
            return not value
        if _is_number(value):
            power = random.choice([-1, 1]) * 2 ** random.randint(0, 9)
            return random.choice([value + power, value + power, -value, *random.sample(self.values[type(value)], 1)])
        if isinstance(value, dict):
            pairs = list(value.items())
            random.shuffle(pairs)
            (key, one), *rest = pairs or [("a", 0)]
            new = random.choice([self._other(key, random), *random.sample(self.values.get(type(key), [key]), 1)])
            return dict(rest if random.random() < 0.4 else [*pairs, (new, one)])
        if isinstance(value, (str, list, tuple, set, frozenset)):
            items = self._rearranged(list(value), random, isinstance(value, str))
            return "".join(items) if isinstance(value, str) else type(value)(items)
        return value

    def _rearranged(self, items, random, is_text=False):
        at = random.randrange(len(items) + 1)
        way = random.randrange(10)
        if way < 3 and len(items) < self.longest:
            items.insert(at, self._item(items, random, is_text))
        elif way == 3 and 0 < len(items) < self.longest:
            start = random.randrange(len(items))
            items[at:at] = items[start : start + random.randint(1, 3)] * random.randint(1, 2)
        elif way < 6:
            del items[at : at + 1]
        elif way == 6:
            items = list(random.choice(self.values[str])) if is_text else items[:at]
        elif way == 7:
            items.reverse()
        elif items:
            other = random.randrange(len(items))
            items[at - 1], items[other] = items[other], items[at - 1]
        return items

    def _item(self, items, random, is_text):
        if is_text:
            return random.choice(self.letters)
        item = random.choice(items or self.values[int])
        return item if random.random() < 0.5 else self._other(item, random)


def _leaves(value, path=()):
    """The places of an input that can change, each with its path and value: collections, numbers, texts and their characters."""
    found = [(path, value)] if path else []
    if isinstance(value, (list, tuple)):
        items = enumerate(value)
    elif isinstance(value, str):
        items = ((i, _Letter(ord(letter))) for i, letter in enumerate(value))
    else:
        items = value.items() if isinstance(value, dict) else ()
    for key, item in items:
        found += _leaves(item, (*path, key))
    return found


def _put(value, path, new):
    """A copy of a value with another part at a path."""
    if not path:
        return chr(new) if isinstance(new, _Letter) else new
    key, *rest = path
    inner = _put(value[key], rest, new)
    if isinstance(value, dict):
        return {**value, key: inner}
    parts = [*value[:key], inner, *value[key + 1 :]]
    return "".join(parts) if isinstance(value, str) else type(value)(parts)


def _nodes(source):
    try:
        return list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return []


def _simpler(args):
    """Copies of an input with one part left out or with one smaller number."""
    for path, value in _leaves(args):
        if isinstance(value, (str, list, tuple)):
            half = len(value) // 2
            shorter = [value[half:], value[:half], *[value[:i] + value[i + 1 :] for i in range(len(value))]]
            others = [one for one in shorter if len(one) < len(value)]
        elif isinstance(value, (dict, set, frozenset)):
            items = list(value.items() if isinstance(value, dict) else value)
            others = [type(value)(items[:i] + items[i + 1 :]) for i in range(len(items))]
        elif isinstance(value, _Letter):
            others = [_Letter(97)] if value != 97 else []
        elif _is_number(value) and math.isfinite(value):
            whole = type(value)(int(value))
            others = [one for one in (type(value)(0), type(value)(whole // 2), whole - (1 if value > 0 else -1), whole, -value)
                      if (abs(one), one < 0) < (abs(value), value < 0)]
        else:
            others = []
        for other in others:
            yield _put(args, path, other)


def _examples(source, entry):
    """Inputs by the annotations of the parameters; parameters without one may be numbers, texts or lists."""
    for node in _nodes(source):
        if isinstance(node, ast.FunctionDef) and node.name == entry.split(".")[-1]:
            parameters = [one for one in [*node.args.posonlyargs, *node.args.args] if one.arg != "self"]
            guesses = [ast.Name("int"), ast.Name("str"), ast.Name("list")]
            kinds = [[one.annotation] if one.annotation else guesses for one in parameters]
            made = ([_example(kind, size) for kind in chosen] for chosen in itertools.product(*kinds) for size in (3, 1, 0))
            return list(itertools.islice(made, MOST_EXAMPLES))
    return []


def _example(kind, size):
    """A value of the type that an annotation names."""
    inner = []
    if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
        kind = _nodes(kind.value)[2] if len(_nodes(kind.value)) > 2 else None
    if isinstance(kind, ast.Constant) and kind.value is None:
        return None
    if isinstance(kind, ast.BinOp):
        return _example(kind.right if size % 2 else kind.left, size)
    if isinstance(kind, ast.Subscript):
        inner = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]
        kind = kind.value
    name = getattr(kind, "id", getattr(kind, "attr", "")).lower()
    item = inner[0] if inner else None
    if name in ("optional", "union"):
        return _example([*inner, ast.Constant(None)][size % max(2, len(inner))], size)  # Optional has one
    if name == "tuple" and len(inner) > 1 and getattr(inner[1], "value", None) is not ...:
        return tuple(_example(one, size) for one in inner)
    if name in ("dict", "mapping", "defaultdict", "counter"):
        return {_example(item, i): _example(inner[1] if len(inner) > 1 else None, i) for i in range(size)}
    if name in ("list", "sequence", "iterable", "tuple", "set", "frozenset", "collection"):
        items = [_example(item, size - i) for i in range(size)]
        return {"tuple": tuple, "set": set, "frozenset": frozenset}.get(name, list)(items)
    values = {"str": "a b"[:size], "bool": size > 0, "float": size / 2}
    return values.get(name, size)
