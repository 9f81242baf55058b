// One suite of test source for every backend: what tests and programs can do across the two processes, and what they
// cannot.
import assert from 'node:assert/strict';
import type { Limits, TestJob, TestRun } from '../../core/schema/execution.js';
import type { Sandbox } from '../../sandbox/sandbox.js';

export const LIMITS: Limits = {
  cpuSeconds: 6,
  caseCpuSeconds: 3,
  wallSeconds: 60,
  memoryMb: 256,
  outputBytes: 100_000,
};
export const testJob = (code: string, source: string, more: Partial<TestJob> = {}): TestJob => ({
  id: 'job',
  code,
  style: 'assert',
  files: { 'test_it.py': source },
  ...more,
  limits: { ...LIMITS, ...more.limits },
});
/** Outcome by test name, with the message of unexpected outcomes. */
export const outcomes = ({ tests }: TestRun) => Object.fromEntries(tests.map(({ name, outcome }) => [name, outcome]));

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

/** Adds the suite for the sandbox that `get` returns once it is open. */
export function testSourceConformance(get: () => Sandbox): void {
  const run = async (code: string, source: string, more: Partial<TestJob> = {}) =>
    (await get().runTests([testJob(code, source, more)]))[0]!;
  const all = async (expected: string, code: string, source: string, more: Partial<TestJob> = {}) => {
    const result = await run(code, source, more);
    assert.ok(result.tests.length > 0);
    for (const { name, outcome, message } of result.tests) assert.equal(outcome, expected, `${name}: ${message}`);
    return result.tests;
  };

  it('treats every top-level assert as a test named by its line', async () => {
    const result = await run(
      'def f(a, b=1): return a + b',
      'assert f(1, 2) == 3\nx = f(2)\nassert x == 4, "wrong"\nassert f(a=2, b=5) == 7\n',
    );
    assert.deepEqual(
      result.tests.map(({ name, outcome }) => [name, outcome]),
      [
        ['line 1', 'pass'],
        ['line 3', 'fail'],
        ['line 4', 'pass'],
      ],
    );
    assert.match(result.tests[1]!.message!, /wrong/);
  });

  it('treats functions, unittest classes, plain classes, check(candidate) and asserting statements as tests', async () => {
    const source = `
import unittest
def test_one(): assert f(1) == 1
def test_two(): assert f(1) == 2
def helper(): assert False
class TestPlain:
  def setup_method(self): self.x = 3
  def test_x(self): assert f(self.x) == 3
class Case(unittest.TestCase):
  def setUp(self): self.x = 4
  def test_a(self): self.assertEqual(f(self.x), 4)
  def test_b(self): self.assertEqual(f(1), 4)
  def test_c(self):
    with self.assertRaises(ZeroDivisionError): f(1 / 0)
  @unittest.skip('later')
  def test_d(self): pass
def check(candidate): assert candidate(5) == 5
for x in range(3):
  assert f(x) == x
if __name__ == '__main__':
  unittest.main()
test_one()
`;
    assert.deepEqual(outcomes(await run('def f(x): return x', source, { entry: 'f' })), {
      'line 18': 'pass',
      test_one: 'pass',
      test_two: 'fail',
      'TestPlain.test_x': 'pass',
      'Case.test_a': 'pass',
      'Case.test_b': 'fail',
      'Case.test_c': 'pass',
      check: 'pass',
    });
  });

  it('shows the same program to every form of import', async () => {
    const source = `
import solution
import solution as s
from solution import f, LIMIT, Box
from solution import *
assert solution.f(1) == s.f(1) == f(1) == 2
assert LIMIT == [1, 2] and solution.LIMIT == [1, 2]
assert isinstance(Box(), solution.Box) and type(s.Box()) is Box
assert solution.box is solution.box and isinstance(solution.box, Box)
assert not hasattr(solution, '_hidden')
`;
    const code =
      'LIMIT = [1, 2]\n_hidden = 1\ndef f(x): return x + 1\nclass Box:\n  def __init__(self): self.n = 1\nbox = Box()';
    await all('pass', code, source);
  });

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

  it('applies changes that a call makes to its arguments to the objects of the test, even nested and shared ones', async () => {
    const code = `
def grow(xs):
  xs.append(9)
  return xs
def fill(d, s):
  d['k'] = [1]
  s.add(5)
def flip(grid):
  grid[0][0] = 7
  grid.reverse()
def fail(xs):
  xs.clear()
  raise ValueError
def swap(a, b): a[0], b[0] = b[0], a[0]
`;
    const source = `
a = [1]
b = grow(a)
assert a == [1, 9] and b is a
d, s = {}, {1}
assert fill(d, s) is None and d == {'k': [1]} and s == {1, 5}
row = [0, 0]
grid = [row, row, [3]]
flip(grid)
assert row == [7, 0] and grid[2] is row and grid[1] is row and grid[0] == [3]
c = [1]
try:
  fail(c)
except ValueError:
  pass
assert c == []
p, q = [[1]], [[2]]
first = p[0]
swap(p, q)
assert q[0] is first and p == [[2]]
`;
    await all('pass', code, source);
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

  it('asks a returned object for its truth value, as if the program had returned True or False', async () => {
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
    assert.deepEqual(
      tests.map(({ outcome }) => outcome),
      ['pass', 'pass', 'pass', 'pass', 'fail'],
    );
    const much = await run(code, `${source}\nassert len(printed(much)) == 1_000_000`, {
      limits: { outputBytes: 5_000_000 } as Limits,
    });
    assert.equal(much.tests.at(-1)!.outcome, 'pass');
    const over = await run(code, source.replace('f(0) is None', 'much() is None'));
    assert.equal(over.tests[0]!.outcome, 'output');
  });

  it('shows an entry that begins with an underscore, and no other such name', async () => {
    const code = 'def _sum(xs): return sum(xs)\ndef _other(): return 1\ndef __dunder(): return 1';
    const source = `
import solution
from solution import *
assert _sum([1, 2]) == 3 and solution._sum([4]) == 4
assert not hasattr(solution, '_other') and not hasattr(solution, '__dunder')
def check(candidate): assert candidate([5]) == 5`;
    await all('pass', code, source, { entry: '_sum' });
    const [one] = (await run(code, 'assert __dunder() == 1', { entry: '__dunder' })).tests;
    assert.equal(one!.outcome, 'error');
  });

  it('gives tests the names of typing that the program imports', async () => {
    const code = 'from typing import List, Optional\nimport typing\ndef f(xs: List[int]): return xs';
    await all(
      'pass',
      code,
      'def g(x: Optional[List[int]]) -> List[int]: return x\nassert g(f([1])) == [1] and typing.Any',
    );
  });

  it('lets only the entry hide a builtin of the tests', async () => {
    const code = `
def f(xs): return [0]
def sorted(xs): return [1, 2]
def len(xs): return 2
def all(xs): return True
def isinstance(x, kind): return True
AssertionError = ZeroDivisionError
`;
    const source = `
from solution import *
assert sorted(f([2, 1])) == [1, 2]
assert len(f([2, 1])) == 2
assert all(x > 0 for x in f([2, 1]))
assert isinstance(f([2, 1]), dict)
`;
    await all('fail', code, source, { entry: 'f' });
    // ambiguous without an entry
    await all('error', code, source);
    await all('error', 'def sum(xs): return 0', 'assert sum([1, 2]) == 3');
    await all('fail', 'def sum(xs): return 0', 'from solution import sum\nassert sum([1, 2]) == 3');
    await all('fail', 'def sum(xs): return 0', 'assert sum([1, 2]) == 3', { entry: 'sum' });
    await all('pass', 'def sum(xs): return 3', 'assert sum([1, 2]) == 3', { entry: 'sum' });
  });

  it('reports errors for a program that exits or kills itself, and runs the other tests', async () => {
    const code = `
import os, sys
def f(k):
  if k == 1: sys.exit(0)
  if k == 2: os._exit(0)
  if k == 3: raise KeyboardInterrupt
  if k == 4: raise GeneratorExit
  if k == 5: raise SystemExit
  return k
`;
    const source = [0, 1, 2, 3, 4, 5, 6]
      .map((k) => `def test_${k}():\n  try: x = f(${k})\n  except Exception: x = ${k}\n  assert x == ${k}`)
      .join('\n');
    assert.deepEqual(Object.values(outcomes(await run(code, source))), ['pass', ...Array(5).fill('error'), 'pass']);
  });

  it('reports a timeout for a test with a loop in a call, whatever it catches', async () => {
    const code = 'calls = 0\ndef f(x):\n  global calls\n  calls += 1\n  while x: pass\n  return calls';
    const source = `
def test_before(): assert f(0) == 1
def test_loop():
  try: f(1)
  except BaseException: pass
def test_again():
  try: f(1)
  except BaseException: pass
  try: f(0)
  except BaseException: pass
def test_after(): assert f(0) == 1
`;
    const result = await run(code, source, { limits: { ...LIMITS, caseCpuSeconds: 0.2 } });
    assert.deepEqual(outcomes(result), {
      test_before: 'pass',
      test_loop: 'timeout',
      test_again: 'timeout',
      test_after: 'pass',
    });
  });

  it('reports memory and output per test, and an error for an object of a lost process', async () => {
    const code = `
class Box:
  def __init__(self): self.x = 1
def big(n):
  keep = []
  while n: keep.append(bytearray(10 ** 6))
def loud(n):
  while n: print('x' * 1000)
`;
    const source = `
box = Box()
def test_box(): assert box.x == 1
def test_big():
  try: big(1)
  except BaseException: pass
def test_loud(): loud(1)
def test_lost(): assert box.x == 1
def test_after(): assert big(0) is None
`;
    assert.deepEqual(outcomes(await run(code, source)), {
      test_box: 'pass',
      test_big: 'memory',
      test_loud: 'output',
      test_lost: 'error',
      test_after: 'pass',
    });
  });

  it('runs later tests in a fresh process after tests that loop, exit or swallow everything', async () => {
    const source = `
import os, sys
def test_a(): assert f(1) == 1
def test_b(): sys.exit(0)
def test_c(): raise KeyboardInterrupt
def test_d():
  while True:
    try:
      while True: pass
    except BaseException: pass
def test_e(): assert f(2) == 2
`;
    const limits = { ...LIMITS, caseCpuSeconds: 0.2, cpuSeconds: 12 };
    const result = outcomes(await run('def f(x): return x', source, { limits }));
    assert.deepEqual(Object.values(result), ['pass', 'error', 'error', 'timeout', 'pass']);
  });

  it('reports a timeout for a test that loops and does not shorten the time of the others', async () => {
    const source = `
def test_a():
  while True: pass
assert f(1) == 1
def test_b():
  while True: f(1)
def test_c(): assert f(2) == 2
assert sum(len(sorted(range(10 ** 5), key=lambda x: -x)) for _ in range(10 ** 5))
assert f(3) == 3
`;
    const limits = { ...LIMITS, caseCpuSeconds: 0.1, cpuSeconds: 12 };
    const result = await run('def f(x): return x', source, { limits });
    assert.deepEqual(outcomes(result), {
      'line 4': 'pass',
      'line 8': 'timeout',
      'line 9': 'pass',
      test_a: 'timeout',
      test_b: 'timeout',
      test_c: 'pass',
    });
    assert.match(result.tests[1]!.message!, /one test/);
  });

  it('gives the verdict of a program that does not load to every test', async () => {
    const source = 'from solution import f\nassert f(1) == 1\ndef test_x(): assert True';
    await all('error', 'def f(x) return x', source);
    await all('error', 'raise ValueError', source);
    await all('timeout', 'while True: pass', source, { limits: { ...LIMITS, cpuSeconds: 0.2 } });
    assert.equal((await all('error', 'def g(x): return x', 'from solution import f\nassert f(1)')).length, 1);
    assert.deepEqual((await run('def f(x): return x', 'from solution import f\nx = f(1)\n')).tests, []);
    assert.deepEqual((await run('def f(x): return x', '')).tests, []);
  });

  it('reports a failed set-up as an error of later tests only', async () => {
    const result = await run('def f(x): return x', 'assert f(1) == 1\nx = f(1) / 0\nassert x == 1\ndef test_y(): pass');
    assert.deepEqual(outcomes(result), { 'line 1': 'pass', 'line 3': 'error', test_y: 'error' });
    assert.match(result.tests[1]!.message!, /set-up.*ZeroDivisionError.*line 2/);
    await all('error', 'def f(x): return x', 'assert f(1) ==\n');
  });

  it('lets tests patch `solution` without changing the program', async () => {
    const source = `
import solution, math
from unittest import mock
solution.helper = lambda x: 99
assert solution.helper(1) == 99 and solution.f(1) == 2
with mock.patch('solution.helper', return_value=5):
  assert solution.helper(1) == 5 and solution.f(1) == 2
math.sqrt = lambda x: -1
assert solution.root(4) == 2
`;
    await all(
      'pass',
      'import math\ndef helper(x): return x + 1\ndef f(x): return helper(x)\ndef root(x): return math.sqrt(x)',
      source,
    );
  });

  it('refuses functions as arguments and generators as answers with a message', async () => {
    const code = 'def apply(f, x): return f(x)\ndef gen():\n  yield 1';
    const { tests } = await run(
      code,
      'assert apply(lambda x: x, 1) == 1\nassert list(gen()) == [1]\nassert apply(abs, -1) == 1',
    );
    assert.deepEqual(
      tests.map(({ outcome }) => outcome),
      ['error', 'error', 'pass'],
    );
    assert.match(tests[0]!.message!, /stay with the tests/);
    assert.match(tests[1]!.message!, /a generator is not plain data/);
  });

  it('hides tests from the program: frames, memory, files, modules and descriptors', async () => {
    const code = `
import gc, os, sys
def f(x):
  seen = []
  frame = sys._getframe()
  while frame:
    for names in (frame.f_locals, frame.f_globals):
      seen += [str(name) for name in names] + [y for y in list(names.values()) if type(y) is str]
    frame = frame.f_back
  for o in gc.get_objects():
    if type(o) is dict: seen += [y for y in [*o.keys(), *o.values()] if type(y) is str]
    if type(o) in (list, tuple): seen += [y for y in o if type(y) is str]
  seen += [*sys.modules, *os.environ.values()]
  for top, _, names in os.walk('/tmp'):
    for name in names: seen += [name, open(os.path.join(top, name), errors='replace').read()]
  for path in ('/proc/self/cmdline', '/proc/self/environ', '/proc/1/cmdline'):
    try: seen.append(open(path, errors='replace').read())
    except OSError: pass
  needle = ''.join(map(chr, x))
  return [len(seen) > 1000, any(needle in y for y in seen)]
`;
    const needle = [...'expected_marker'].map((letter) => letter.charCodeAt(0));
    const source = `
expected_marker = 'the expected_marker of this test'
with open('/tmp/expected_marker', 'w') as file: file.write(expected_marker)
assert f(${JSON.stringify(needle)}) == [True, False]
assert f([115, 111, 108, 117, 116, 105, 111, 110]) == [True, True]
`;
    await all('pass', code, source); // the second search must find the program's own module name
  });

  it('rejects test reports from a program that writes frames', async () => {
    const code = `
import os, struct
def say(text):
  for fd in range(3, 9):
    try: os.write(fd, struct.pack('>I', len(text)) + text)
    except OSError: pass
def f(x):
  say(b'{"v":3}')
  say(b'{"end":["line 1","pass",null]}')
  say(b'{"done":true}')
  return x
def g(x): return x
`;
    const { tests } = await run(code, 'assert f(1) == 3 and f(1) == 1\nassert g(1) == 2\nassert g(1) == 1');
    assert.notEqual(tests[0]!.outcome, 'pass');
    assert.notEqual(tests[1]!.outcome, 'pass');
    assert.equal(tests.length, 3);
  });

  it('accepts no answer of the program from tests that write frames', async () => {
    const source = `
import sys
channel = next(m for m in [sys._getframe()] if m)
frame = sys._getframe()
while 'channel' not in frame.f_globals or not hasattr(frame.f_globals['channel'], 'send'): frame = frame.f_back
wire = frame.f_globals['channel']
def test_malformed():
  wire.send('{"pass": true}')
  assert f(1) == 1
def test_other(): assert f(1) == 1
`;
    const { tests } = await run('def f(x): return x', source);
    assert.ok(tests.length > 0 && tests.every(({ outcome }) => outcome === 'error'), JSON.stringify(tests));
  });

  it('gives tests no name of the program that only runs code', async () => {
    const source = `
import solution
assert solution.apply(eval, '1')
assert solution.apply(open, '/etc/hostname')
assert solution.f.__globals__
assert solution.Box().__dict__
assert solution.Box.__subclasses__()
`;
    const { tests } = await run('def apply(f, x): return f(x)\ndef f(): pass\nclass Box: pass', source);
    assert.equal(tests.length, 5);
    for (const { name, outcome } of tests.slice(0, 3)) assert.equal(outcome, 'error', name);
    assert.ok(tests.slice(3).every(({ outcome }) => outcome !== 'timeout'));
  });

  it('keeps the order of many jobs, and nothing of one job in the next', async () => {
    const jobs = Array.from({ length: 12 }, (_, i) => ({
      ...testJob(
        'import json\nseen = getattr(json, "seen", 0)\njson.seen = 1\ndef f(x): return x + seen',
        `import json\nassert f(${i}) == ${i}\nassert not hasattr(json, 'mark')\njson.mark = 1`,
      ),
      id: `${i}`,
    }));
    const runs = await get().runTests(jobs);
    assert.deepEqual(
      runs.map(({ id }) => id),
      jobs.map(({ id }) => id),
    );
    for (const { tests } of runs) assert.ok(tests.every(({ outcome }) => outcome === 'pass'));
  });
}
