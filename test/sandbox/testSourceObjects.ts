// The data that tests and programs exchange across the two processes: values, objects, exceptions and prints.
import assert from 'node:assert/strict';
import type { Limits } from '../../core/schema/execution.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { pluck } from '../support/pluck.js';
import { judging, outcomes } from './testSourceSupport.js';

const FORGER = `
class Forger:
  def __eq__(self, other): return True
  def __ne__(self, other): return False
  def __bool__(self): return True
  def __contains__(self, x): return True
  def __iter__(self): return iter([1, 2])
  def __len__(self): return 2
  def __lt__(self, other): return True
  __gt__ = __le__ = __ge__ = __lt__
  def __add__(self, other): return self
  __radd__ = __sub__ = __rsub__ = __add__
  def __abs__(self): return 0
  def __getitem__(self, i): return self
  def __hash__(self): return 1
  def __float__(self): return 1.0
  def __int__(self): return 1
  def __index__(self): return 1
class Point(Forger):
  def __init__(self, x=0, y=0): self.x, self.y = x, y
class Numeral(int):
  def __eq__(self, other): return True
  __hash__ = int.__hash__
class Sly(list):
  def __eq__(self, other): return True
def f(*args): return Forger()
def g(*args): return Point(1, 2)
def n(*args): return Numeral(7)
def s(*args): return Sly([7])
def nested(*args): return [Forger(), {'k': Forger()}]
`;

const STACK = `
class Empty(LookupError): pass
class Stack:
  made = 0
  def __init__(self, items=()):
    self.items = list(items)
    Stack.made += 1
  @classmethod
  def of(cls, *items): return cls(items)
  @property
  def top(self): return self.items[-1]
  def push(self, x):
    self.items.append(x)
    return self
  def pop(self):
    if not self.items: raise Empty('nothing in it')
    return self.items.pop()
  def peers(self): return [Stack([1]), Stack([2])]
  def __len__(self): return len(self.items)
  def __contains__(self, x): return x in self.items
  def __iter__(self):
    for x in self.items: yield x
  def __getitem__(self, i): return self.items[i]
  def __setitem__(self, i, x): self.items[i] = x
  def __eq__(self, other): return self.items == other.items
  def __lt__(self, other): return self.items < other.items
  def __add__(self, other): return Stack(self.items + other.items)
  def __iadd__(self, other):
    self.items += list(other)
    return self
  def __repr__(self): return f'Stack({self.items})'
  def __enter__(self):
    return self
  def __exit__(self, kind, error, trace):
    self.items.clear()
    return kind is KeyError
  def __call__(self): return 'called'
`;

export function testSourceObjects(get: () => Sandbox): void {
  const { run, all } = judging(get);

  it('passes values of every type in both directions', async () => {
    const source = `
for x in (None, True, 2, -1, 10**40, 2.5, float('inf'), 'a\\u00e9\\ud800', b'\\x00\\xff', [1, [2]], (1, (2,)), {1, 'a'},
          frozenset([1]), {'k': [1], (1, 2): None}, 1j, range(3), bytes(3), {frozenset([1]): 2}):
  assert same(x) == x, x
  assert type(same(x)) is type(x), x
assert same(0.1) + same(0.2) != 0.3
assert kinds(len, slice(1, 2)) == [3, (1, 2)]
assert str(same(float('nan'))) == 'nan'
assert raised(ValueError('no')) == 'no'
`;
    await all(
      'pass',
      'def same(x): return x\ndef kinds(f, s): return [f("abc"), (s.start, s.stop)]\ndef raised(e): return str(e)',
      source,
    );
  });

  it('sends operators of an object that the tests construct to its class', async () => {
    const source = `
s = Stack()
assert len(s) == 0 and not s
assert s.push(1).push(2) is s
assert s.top == 2 and len(s) == 2 and 1 in s and 7 not in s
assert list(s) == [1, 2] and s[0] == 1 and s[-1] == 2 and s[0:2] == [1, 2]
s[0] = 5
assert s.pop() == 2 and s.pop() == 5
assert repr(Stack([1])) == str(Stack([1])) == 'Stack([1])'
assert Stack([1]) == Stack([1]) and Stack([1]) != Stack([2]) and Stack([1]) < Stack([2])
assert (Stack([1]) + Stack([2])).items == [1, 2]
s += [4]
assert s.items == [4] and type(s) is Stack
with Stack([1]) as t:
  assert t.top == 1
assert t.items == []
with Stack([1]):
  raise KeyError
s.items = [8]
assert s.top == 8 and s() == 'called'
assert len(Stack.of(1, 2)) == 2 and Stack.made > 5
assert [p.top for p in s.peers()] == [1, 2]
import copy
u = copy.deepcopy(s)
assert u is not s and u == s and u.push(1) is u and len(s) == 1
`;
    await all('pass', STACK, source.replace('with Stack([1]):\n  raise KeyError\n', ''));
  });

  it('keeps class, text, arguments and attributes of exceptions', async () => {
    const code = `
class Base(Exception):
  def __init__(self, text, code):
    super().__init__(text)
    self.code = code
class Narrow(Base, ValueError): pass
class _Hidden(KeyError): pass
def f(k):
  if k == 0: raise ValueError('bad', 3)
  if k == 1: raise Narrow('narrow', 42)
  if k == 2: raise _Hidden('h')
  if k == 3: return 1 // 0
  if k == 4: raise StopIteration(5)
`;
    const source = `
import solution
def caught(kind, k):
  try:
    f(k)
  except kind as error:
    return error
assert caught(ValueError, 0).args == ('bad', 3)
e = caught(Base, 1)
assert type(e) is Narrow and str(e) == 'narrow' and e.code == 42 and isinstance(e, Base)
assert issubclass(solution.Narrow, solution.Base)
assert type(caught(LookupError, 2)) is KeyError
assert 'zero' in str(caught(ArithmeticError, 3))
assert caught(StopIteration, 4).value == 5
def test_own():
  try:
    raise Narrow('x', 1)
  except Base as error:
    assert error.args == ('x', 1)
`;
    await all('pass', code, source);
  });

  it('reports an exception of a call, even an AssertionError, as an error of that test', async () => {
    const source = 'assert f(0) == 0\nassert f(1) == 1\nassert f(2) == 2\nassert f(0) == 0';
    const code = 'def f(x):\n  if x == 1: raise ValueError\n  assert x != 2\n  return x';
    assert.deepEqual(Object.values(outcomes(await run(code, source))), ['pass', 'error', 'error', 'pass']);
  });

  it('lets no returned object decide an assertion', async () => {
    const source = `
import math
assert f() == [1, 2]
assert [1, 2] == f()
assert not f() != [1, 2]
assert 3 in f()
assert list(f()) == [1, 2]
assert f() < 3
assert 3 < f()
assert f() in [[1, 2]]
assert (f() + 1) is not None
assert abs(f() - 2) < 0.1
assert math.isclose(f(), 1)
assert f()[0] == 1
assert len(f()) == 2
assert {1: 2}.get(f()) is not None
assert sum([f()]) == 1
assert max(f(), 2) is not None
assert isinstance(f(), (int, list, tuple, dict, str))
assert nested() == [1, {'k': 1}]
assert nested()[0] == 1
assert g() == Point(1, 2)
assert Point(1, 2) == [1, 2]
assert [1, 2] == Point(1, 2)
assert not (Point(1, 2) != 3)
assert Point(1, 2) <= 3
assert n() == 8
assert s() == [8]
assert n() == 7 and s() == [7] and False
`;
    const { tests } = await run(FORGER, source);
    assert.equal(tests.length, 27);
    for (const { name, outcome } of tests) assert.ok(outcome === 'fail' || outcome === 'error', `${name}: ${outcome}`);
    assert.match(tests[0]!.message!, /object of its class Forger, which has no == here, .* compare its attributes/);
  });

  it('treats a returned object in a condition as if the program had returned True or False', async () => {
    const code = `
class Node:
  def __init__(self, val, next=None): self.val, self.next = val, next
class Bag:
  def __len__(self): return 0
class Odd:
  def __bool__(self): return 3
def f(): return Node(1, Node(2))
def bag(): return Bag()
def odd(): return Odd()`;
    const source = `
node, values = f(), []
while node:
  values.append(node.val)
  node = node.next
assert values == [1, 2]
assert not bag() and f()
assert f() and not f()
assert odd()`;
    assert.deepEqual(Object.values(outcomes(await run(code, source))), ['pass', 'pass', 'fail', 'error']);
  });

  it('shows a test that captures standard output what a call prints', async () => {
    const code = `
import sys
print('loaded')
def f(x):
  print(x, end='!')
  sys.stdout.writelines(['a', 'b'])
  if x > 1: raise ValueError
def quiet(): print('unseen', file=sys.stderr)
def much(): print('\\U0001F600' * 1_100_000)`;
    const source = `
import contextlib, io
def printed(call, *args):
  out = io.StringIO()
  with contextlib.redirect_stdout(out):
    try: call(*args)
    except ValueError: pass
  return out.getvalue()
assert f(0) is None
assert printed(f, 1) == '1!ab'
assert printed(f, 2) == '2!ab'
assert printed(quiet) == ''
assert printed(f, 1) == '1!ab!'`;
    const { tests } = await run(code, source);
    assert.deepEqual(pluck(tests, 'outcome'), ['pass', 'pass', 'pass', 'pass', 'fail']);
    const much = await run(code, `${source}\nassert len(printed(much)) == 1_000_000`, {
      limits: { outputBytes: 5_000_000 } as Limits,
    });
    assert.equal(much.tests.at(-1)!.outcome, 'pass');
    const over = await run(code, source.replace('f(0) is None', 'much() is None'));
    assert.equal(over.tests[0]!.outcome, 'output');
  });

  it('refuses functions as arguments and generators as answers with a message', async () => {
    const code = 'def apply(f, x): return f(x)\ndef gen():\n  yield 1';
    const { tests } = await run(
      code,
      'assert apply(lambda x: x, 1) == 1\nassert list(gen()) == [1]\nassert apply(abs, -1) == 1',
    );
    assert.deepEqual(pluck(tests, 'outcome'), ['error', 'error', 'pass']);
    assert.match(tests[0]!.message!, /stay with the tests/);
    assert.match(tests[1]!.message!, /a generator is not plain data/);
  });
}
