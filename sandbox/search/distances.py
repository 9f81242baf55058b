"""How far a run is from the outcomes of the conditions in a source (Tracey et al. 1998, "An automated framework for structural
test-data generation"). The sandbox joins the files of this folder into one program; search.py is its entry."""

import ast
import copy
import math
import operator as op

EVENTS = 20_000  # the most conditions, iterations and calls of one run
FAR = 1e6  # the distance to a goal that cannot be measured
MOST_ITEMS = 100  # items of a collection that are compared
EDGE = "edge"  # a goal is a condition and True, False, or EDGE: both sides of a comparison are equal


class _TooLong(BaseException):
    """Ends a run. The code that runs cannot catch it as an Exception."""


class _Measured(ast.NodeTransformer):
    """Replaces conditions by calls that measure distances, and lets iterations and calls of functions count as events."""

    def __init__(self, parts):
        self.parts = parts  # the goals that must all be reached for a goal
        self.names = {}

    def _name(self, node):
        text = ast.unparse(node)
        self.names[text] = self.names.get(text, 0) + 1
        return f"{text} #{self.names[text]}"

    def _triple(self, node):
        """An expression for the value of a condition and its distances from true and from false, and the condition's name."""
        name = self._name(node)
        if isinstance(node, ast.BoolOp) and not _binds(node):
            wants = isinstance(node.op, ast.And)
            children = [self._triple(value) for value in node.values]
            self.parts[name, wants] = [(child, wants) for _, child in children]
            empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            return _call("several", _text(name), _text(wants), *[ast.Lambda(empty, one) for one, _ in children]), name
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner, child = self._triple(node.operand)
            for outcome in (True, False):
                self.parts[name, outcome] = [(child, not outcome)]
            return _call("negated", _text(name), inner), name
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = [self.visit(node.left), self.visit(node.comparators[0])]
            return _call("compared", _text(name), _text(type(node.ops[0]).__name__), *sides), name
        if isinstance(node, ast.Compare) and not _binds(node):
            sides = [node.left, *node.comparators]
            pairs = [ast.Compare(copy.deepcopy(sides[i]), [op], [sides[i + 1]]) for i, op in enumerate(node.ops)]
            return self._triple(ast.BoolOp(ast.And(), pairs))
        return _call("truth", _text(name), self.visit(node)), name

    def _value(self, node):
        return _call("value", self._triple(node)[0])

    def visit_Compare(self, node):
        return self._value(node) if len(node.ops) == 1 or not _binds(node) else self.generic_visit(node)

    def visit_BoolOp(self, node):
        return self.generic_visit(node) if _binds(node) else self._value(node)

    def visit_UnaryOp(self, node):
        return self._value(node) if isinstance(node.op, ast.Not) else self.generic_visit(node)

    def _with_test(self, node):
        test, node.test = node.test, ast.Constant(True)
        self.generic_visit(node)
        node.test = self._value(test)
        return node

    visit_If = visit_While = visit_IfExp = _with_test

    def visit_comprehension(self, node):
        node.ifs = [self._value(test) for test in node.ifs]
        node.iter = self.visit(node.iter) if node.is_async else _call("each", self.visit(node.iter))
        return node

    def visit_For(self, node):
        self.generic_visit(node)
        node.iter = _call("each", node.iter)
        return node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_call("event")))
        return node


class _Probe:
    """What the measured sources call. Keeps the least distance to each goal in a run."""

    def __init__(self):
        self.near = {}
        self.left = EVENTS

    def event(self):
        self.left -= 1
        if self.left < 0:
            raise _TooLong

    def each(self, items):
        for item in items:
            self.event()
            yield item

    @staticmethod
    def value(triple):
        return triple[0]

    def _note(self, name, value, true, false, edge=None):
        self.event()
        for kind, distance in ((True, true), (False, false), (EDGE, edge)):
            if distance is not None and distance <= self.near.get((name, kind), math.inf):
                self.near[name, kind] = min(distance, FAR)
        return value, true, false

    def truth(self, name, value):
        is_true = bool(value)
        size = abs(value) if _is_number(value) else len(value) if isinstance(value, (str, list, tuple, dict, set)) else 1
        return self._note(name, value, 0 if is_true else 1, size if is_true else 0)

    def negated(self, name, triple):
        value, true, false = triple
        return self._note(name, not value, false, true)

    def several(self, name, wants, *conditions):
        """`and` if it wants all to be true, else `or`. Conditions that Python would skip are measured, too."""
        reached, missed, value, decided = 0, FAR, None, False
        for condition in conditions:
            try:
                one, true, false = condition()
            except Exception:
                if not decided:
                    raise
                reached += FAR
                continue
            if not decided:
                value, decided = one, bool(one) != wants
            reached, missed = reached + (true if wants else false), min(missed, false if wants else true)
        return self._note(name, value, reached if wants else missed, missed if wants else reached)

    def compared(self, name, kind, a, b):
        value = _COMPARE[kind](a, b)
        try:
            return self._note(name, value, *_distances(kind, a, b, bool(value)))
        except Exception:  # objects that do not compare as usual, such as arrays
            return self._note(name, value, FAR, FAR)


def _distances(kind, a, b, value):
    """The distances from true, from false, and from equality if the operator orders its sides."""
    if kind in ("Eq", "NotEq", "In", "NotIn"):
        gap = _apart(a, b) if kind in ("Eq", "NotEq") else _outside(a, b)
        other = 0 if gap else 1
        return (gap, other) if kind in ("Eq", "In") else (other, gap)
    if _is_number(a) and _is_number(b):
        over = a - b if kind in ("Lt", "LtE") else b - a  # true if it is below 0, or 0 where equality counts
        more = 0 if kind in ("LtE", "GtE") else 1
        return 0 if value else over + more, 1 - more - over if value else 0, abs(over)
    return 0 if value else 1, 1 if value else 0


_NAMES = ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is", "IsNot")
_COMPARE = dict(zip(_NAMES, (op.eq, op.ne, op.lt, op.le, op.gt, op.ge, op.is_, op.is_not)))
_COMPARE |= {"In": lambda a, b: a in b, "NotIn": lambda a, b: a not in b}


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _apart(a, b):
    """A distance of two values: 0 if they are equal."""
    if a == b:
        return 0
    if _is_number(a) and _is_number(b):
        return min(abs(a - b), FAR)
    if isinstance(a, str) and isinstance(b, str):
        a, b = [[ord(letter) for letter in text] for text in (a, b)]
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        pairs = list(zip(a, b))[:MOST_ITEMS]
        return min(sum(_apart(one, other) for one, other in pairs) + 2000 * abs(len(a) - len(b)), FAR) or 1
    return 1


def _outside(item, items):
    """The distance of an item from its nearest equal in a collection or a text."""
    if item in items:
        return 0
    if isinstance(items, str):
        items = [items[i : i + len(item)] for i in range(max(1, len(items) - len(item) + 1))]
    return min((_apart(item, one) for one in list(items)[:MOST_ITEMS]), default=FAR) or 1


def _binds(node):
    """Whether a condition cannot become a function, because it binds a name or waits."""
    return any(isinstance(one, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for one in ast.walk(node))


def _text(value):
    return ast.Constant(value)


def _call(name, *args):
    return ast.Call(ast.Attribute(ast.Name("_probe", ast.Load()), name, ast.Load()), list(args), [])
