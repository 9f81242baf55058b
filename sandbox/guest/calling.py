# Loads a program and calls it in the style of its problem (core/schema/calling.ts): as a function, as a method of a new
# object, or as a class through a list of operations. Makes linked lists and trees from literals, and literals from them. No
# method of the program runs while an answer is read, so a program can only give a wrong answer.

NODES = compile('''
class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next


class TreeNode:
    def __init__(self, val=0, left=None, right=None):
        self.val = val
        self.left = left
        self.right = right
''', 'solution.py', 'exec')

# Names that programs in the interview format use without importing them. Builtins keep their meaning.
INTERVIEW = {}
for statement in (
    'from typing import *',
    'from collections import *',
    'from functools import *',
    'from itertools import *',
    'from heapq import *',
    'from bisect import *',
    'from string import *',
    'from operator import *',
    'from math import *',
    'from copy import deepcopy',
    'import bisect, collections, copy, datetime, functools, heapq, itertools, math, operator, random, re, string, typing',
):
    exec(statement, INTERVIEW)
for name in list(INTERVIEW):
    if name.startswith('__') or name in __builtins__:
        del INTERVIEW[name]

CONTEST_DEPTH = 50_000  # the recursion limit; judges of contests and interview sites raise Python's limit of 1000, too

PLAIN = {'style': 'call', 'parameters': [], 'result': 'value', 'observe': 'result'}
SLOT, GETSET = types.MemberDescriptorType, types.GetSetDescriptorType


def load(code, entry, calling=None):
    """Executes a program as module `solution` and returns the argument of `call`. Raises what the program raises."""
    calling = {**PLAIN, **calling} if calling else None
    if calling and calling['style'] == 'stdio':
        return {'calling': calling, 'run': whole_program(code)}
    seed_random(0)  # the same program gives the same answer in every run
    module = types.ModuleType('solution')
    sys.modules['solution'] = sys.modules['__main__'] = module
    names = module.__dict__
    first, _, method = entry.partition('.')
    simple = not (calling or method)
    if not simple:
        names.update(INTERVIEW)
        sys.setrecursionlimit(CONTEST_DEPTH)
        calling = calling or PLAIN
        if any(shape != 'value' for shape in (calling['result'], *calling['parameters'])):
            exec(NODES, names)
    names.pop(first, None)  # the program itself must define this name
    exec(compile(code, 'solution.py', 'exec'), names)
    target = names.get(first)
    if simple and callable(target):
        return target
    if not callable(target):
        kind = 'class ' if not simple and (method or calling['style'] == 'operations') else 'function '
        raise NameError('the program defines no ' + kind + first)
    if method and not callable(getattr(target, method, None)):
        raise NameError('the program defines no method ' + entry)
    return {'target': target, 'method': method, 'name': first, 'calling': calling, 'classes': names}


def call(program, args, truth=False):
    """Makes one call with new arguments. Returns JSON: {"v": the answer, or only its truth value}, {"e": an error} or
    {"m": memory ran out}."""
    try:
        budget = [MAX_NODES, MAX_BYTES]
        if type(program) is dict:
            program['truth'] = truth
            value = STYLES[program['calling']['style']](program, args, budget)
        else:  # a function
            value = program(*[decode(x) for x in args])
            value = encode(bool(value) if truth else value, 0, budget)
        text = to_json({'v': value})
        if len(text) > MAX_BYTES:
            raise Unsendable('the value is too large')
        return text
    except Reported as report:
        return report.args[0]
    except BaseException as error:
        return failure(error)


def call_once(program, args, budget):
    calling, target = program['calling'], program['target']
    given = build_all(args, program)
    observe = calling['observe']
    if observe != 'result' and observe >= len(given):
        raise IndexError('there is no argument ' + str(observe) + ' to compare')
    watched = None if observe == 'result' else given[observe]
    function = getattr(target(), program['method']) if program['method'] else target
    value = function(*given)
    if program['truth']:
        return bool(value)
    if observe == 'result':
        return unbuild(value, calling['result'], budget)
    return unbuild(watched, shape_of(calling, observe), budget)


def operate(program, args, budget):
    """Runs operations: a list of names, and a list with the arguments of each. Encodes each result before the next call."""
    plain = [decode(x) for x in args]
    if len(plain) != 2 or any(type(x) not in (list, tuple) for x in plain) or len(plain[0]) != len(plain[1]) or not plain[0]:
        raise ValueError('operations are a list of names and a list of as many argument lists')
    names, lists = plain
    if names[0] != program['name']:
        raise ValueError('the first operation is ' + str(names[0])[:100] + ', not the class ' + program['name'])
    instance = program['target'](*build_all(items_of(items_of(args[1])[0]), program))
    results = [None]
    for name, given in zip(names[1:], lists[1:]):
        results.append(unbuild(getattr(instance, name)(*given), 'value', budget))
    return results


def run_whole(program, args, budget):
    return encode(program['run'](decode(args[0])), 0, budget)


STYLES = {'call': call_once, 'operations': operate, 'stdio': run_whole}


def shape_of(calling, index):
    shapes = calling['parameters']
    return shapes[index] if index < len(shapes) else 'value'


# ---- makes objects from literals, with the program's own node classes if it defines them ----
def items_of(value):
    """Returns the items of a list or tuple in tagged JSON."""
    return value if isinstance(value, list) else value['t']


def build_all(args, program):
    return [build(x, shape_of(program['calling'], i), program['classes']) for i, x in enumerate(args)]


def build(value, shape, classes):
    plain = decode(value)
    if shape == 'value' or plain is None:
        return plain
    if type(plain) not in (list, tuple):
        raise ValueError('a ' + shape + ' is written as a list')
    if shape == 'ListNode[]':
        return [build_list(x or [], classes['ListNode']) for x in plain]
    if shape == 'TreeNode[]':
        return [build_tree(x or [], classes['TreeNode']) for x in plain]
    return build_list(plain, classes['ListNode']) if shape == 'ListNode' else build_tree(plain, classes['TreeNode'])


def make(cls, value, links):
    try:
        return cls(value)
    except TypeError:
        return cls(value, *links)


def build_list(values, cls):
    head = None
    for value in reversed(values):
        node = make(cls, value, [None])
        node.next = head
        head = node
    return head


def build_tree(values, cls):
    """Makes a tree from values in the order of its levels. None is a missing child, which has no entries for children."""
    if not values or values[0] is None:
        return None
    rest = iter(values)
    root = make(cls, next(rest), [None, None])
    level = [root]
    while level:
        below = []
        for node in level:
            children = []
            for value in (next(rest, None), next(rest, None)):
                child = None if value is None else make(cls, value, [None, None])
                children.append(child)
                if child is not None:
                    below.append(child)
            node.left, node.right = children
        level = below
    return root


# ---- makes literals from objects ----
def unbuild(value, shape, budget):
    if shape == 'value':
        return encode(value, 0, budget)
    if shape in ('ListNode[]', 'TreeNode[]'):
        if not issubclass(type(value), (list, tuple)):
            raise Unsendable('the answer is not a list of ' + shape[:-2] + 's')
        items = (list if issubclass(type(value), list) else tuple).__iter__(value)
        return [unbuild(x, shape[:-2], budget) for x in items]
    return list_values(value, budget) if shape == 'ListNode' else tree_values(value, budget)


def list_values(node, budget):
    out, seen = [], set()
    while node is not None:
        if id(node) in seen:
            raise Unsendable('the linked list has a cycle')
        seen.add(id(node))
        out.append(encode(attribute(node, 'val', 'ListNode'), 1, budget))
        node = attribute(node, 'next', 'ListNode')
    return out


def tree_values(root, budget):
    refuse_cycles(root, budget[0])
    out, level = [], [] if root is None else [root]
    while level:
        below = []
        for node in level:
            if node is None:
                out.append(None)
                budget[0] -= 1
                continue
            out.append(encode(attribute(node, 'val', 'TreeNode'), 1, budget))
            below.append(attribute(node, 'left', 'TreeNode'))
            below.append(attribute(node, 'right', 'TreeNode'))
        level = below if any(node is not None for node in below) else []
    while out and out[-1] is None:
        out.pop()
    return out


def refuse_cycles(root, limit):
    """Raises Unsendable if a tree contains itself. A subtree may occur twice."""
    done, on_path, stack = set(), set(), [(root, False)]
    while stack:
        node, leaving = stack.pop()
        if node is None or (id(node) in done):
            continue
        if leaving:
            on_path.discard(id(node))
            done.add(id(node))
            continue
        if id(node) in on_path:
            raise Unsendable('the tree has a cycle')
        if len(done) + len(on_path) > limit:
            raise Unsendable('the value has too many parts')
        on_path.add(id(node))
        stack.append((node, True))
        stack.append((attribute(node, 'left', 'TreeNode'), False))
        stack.append((attribute(node, 'right', 'TreeNode'), False))


def attribute(node, name, kind):
    """Reads a stored attribute: from the object's own dict, from a slot, or a plain default of its class. Properties,
    __getattr__ and other descriptors do not count, because they would run code of the program."""
    bases = bases_of(type(node))
    for base in bases:
        there, getset = entry_of(names_of(base), '__dict__')
        if there and type(getset) is GETSET:
            found, value = entry_of(GETSET.__get__(getset, node), name)
            if found:
                return value
            break
    for base in bases:
        there, value = entry_of(names_of(base), name)
        if there and type(value) is SLOT:
            return SLOT.__get__(value, node)
        if there and (value is None or type(value) in (bool, int, float, str)):
            return value
        if there:
            break
    raise Unsendable('a value of type ' + type.__repr__(type(node))[:100] + ' is not a ' + kind + ': it stores no `' + name + '`')
