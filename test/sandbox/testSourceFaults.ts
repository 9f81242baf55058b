// Test source and programs that end, loop, exceed limits or attack each other.
import assert from 'node:assert/strict';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { judging, LIMITS, outcomes } from './testSourceSupport.js';

export function testSourceFaults(get: () => Sandbox): void {
  const { run, all } = judging(get);

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

  it('reports a timeout for a test with an endless loop in a call, whatever the test catches', async () => {
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

  it('gives single tests the verdicts `memory` and `output`, and reports an error for an object of a lost process', async () => {
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
}
