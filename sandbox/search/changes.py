"""Changes inputs, one place at a time."""

import ast
import math


class _Letter(int):
    """A character of a text, as the number that the search moves."""


class _Pool:
    """Changes inputs. Draws values from the known inputs and from the constants of the sources."""

    def __init__(self, sources, known):
        constants = [node.value for source in sources for node in _nodes(source) if isinstance(node, ast.Constant)]
        leaves = [value for args in known for _, value in _leaves(args) if not isinstance(value, _Letter)]
        numbers = [value for value in [*constants, *leaves] if _is_number(value) and math.isfinite(value)]
        near = [number + by for number in numbers for by in (-1, 1)]
        self.values = {}
        for value in [*leaves, *constants, *near, *map(str, numbers), 0, 1, "", "a"]:
            self.values.setdefault(type(value), []).append(value)
        self.letters = sorted({*"".join(self.values[str]), *"aZ0 (-,"})
        self.most = 2 * max([500, *map(abs, numbers)])  # the largest size of a number
        self.longest = 2 * max([4, *[len(value) for value in leaves if isinstance(value, (str, list, tuple))]])
        self.known = known
        self.mixes = any("isinstance(" in source for source in sources)  # arguments may have several types

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
        way = random.randrange(9)
        if way < 3 and len(items) < self.longest:
            items.insert(at, self._item(items, random, is_text))
        elif way < 5:
            del items[at : at + 1]
        elif way == 5:
            items = list(random.choice(self.values[str])) if is_text else items[:at]
        elif way == 6:
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
