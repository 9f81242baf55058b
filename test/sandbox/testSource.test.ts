import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { GauntletError } from '../../core/base/errors.js';
import type { TestJob } from '../../core/schema/execution.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { requireDocker } from './docker.js';
import { NATIVE_PYTHON } from './native.js';
import { testSourceConformance } from './testSourceConformance.js';
import { COLLECTED, LIMITS, outcomes, testJob } from './testSourceSupport.js';

/** The names of the tests that unittest finds, by module. A repeated name has a number. */
const COLLECT = `
import collections, json, sys, types, unittest
def cases(suite):
  for x in suite:
    if isinstance(x, unittest.TestSuite): yield from cases(x)
    else: yield x.id().replace('tests.', '', 1)
def load(name, lines):
  module = sys.modules[name] = types.ModuleType(name)
  exec('\\n'.join(lines), module.__dict__)
  return module
def names(one):
  load('solution', one['code'])
  seen = collections.Counter()
  for name in cases(unittest.defaultTestLoader.loadTestsFromModule(load('tests', one['source']))):
    seen[name] += 1
    yield name if seen[name] == 1 else f'{name} #{seen[name]}'
print(json.dumps([[*names(one)] for one in json.load(sys.stdin)]))
`;

describe('test source on Docker', () => {
  let sandbox: Sandbox;
  before(async function () {
    await requireDocker(this);
    sandbox = await openDocker({ size: 1 });
  });
  after(() => sandbox?.close());

  testSourceConformance(() => sandbox);

  const pytest = async (code: string, source: string | Record<string, string>, more: Partial<TestJob> = {}) => {
    const files = typeof source === 'string' ? { 'test_it.py': source } : source;
    return (await sandbox.runTests([testJob(code, '', { ...more, style: 'pytest', files })]))[0]!;
  };

  it('finds the tests that pytest and unittest find in plain Python', async () => {
    const cases = COLLECTED.filter((one) => one.pytest !== null); // the other styles have tests that only gauntlet finds
    const found = spawnSync(NATIVE_PYTHON, ['-c', COLLECT], { input: JSON.stringify(cases), encoding: 'utf8' });
    const named = JSON.parse(found.stdout) as string[][];
    for (const [i, { what, code, source, tests, pytest: others }] of cases.entries()) {
      for (const name of named[i]!) assert.ok(name in tests, `${what}: ${name}`);
      const run = outcomes(await pytest(code.join('\n'), source.join('\n')));
      const names = Object.entries(run).map(([id, outcome]) => [id.split('::').slice(1).join('.'), outcome]);
      assert.deepEqual(Object.fromEntries(names), others ?? tests, what);
    }
    assert.ok(named.flat().length > 20);
  });

  it('takes outcomes only from the tests, not from a fork that a test left running', async () => {
    const source = `
import os, time
def test_forks():
  if os.fork(): time.sleep(0.1)
  else: assert False
def test_next(): pass
`;
    const result = outcomes(await pytest('', source));
    assert.deepEqual(result, { 'test_it.py::test_forks': 'pass', 'test_it.py::test_next': 'pass' });
  });

  it('gives bare asserts the modules that the program imports', async () => {
    const code = 'import math as m, re\nfrom typing import List, Optional\ndef half(x): return x / 2';
    const job = testJob(code, 'assert m.isclose(half(3), 1.5)\nassert re and List[int] and Optional', {
      entry: 'half',
    });
    const [run] = await sandbox.runTests([job]);
    assert.deepEqual(outcomes(run!), { 'line 1': 'pass', 'line 2': 'pass' });
  });

  it('ignores everything that a fork of a test writes into any descriptor', async () => {
    const source = `
import os, time
def test_forks():
  if os.fork() == 0:
    for fd in range(3, 20):
      try: os.write(fd, b'pass')
      except OSError: pass
    os._exit(0)
  time.sleep(0.2)
def test_next(): pass
`;
    const result = outcomes(await pytest('', source));
    assert.deepEqual(result, { 'test_it.py::test_forks': 'pass', 'test_it.py::test_next': 'pass' });
  });

  it('runs functions, classes, fixtures, parametrized tests, raises and approx under pytest', async () => {
    const source = `
import pytest, solution
from solution import Stack, Empty, add
@pytest.fixture
def stack():
  made = Stack([1])
  yield made
  assert made is not None
@pytest.mark.parametrize('a, b, total', [(1, 2, 3), (1, 1, 3), pytest.param(2, 2, 4, id='twos')])
def test_add(a, b, total): assert add(a, b) == total
class TestStack:
  def test_push(self, stack): assert len(stack.push(2)) == 2
  def test_fresh(self, stack): assert len(stack) == 1
def test_raises(stack):
  stack.pop()
  with pytest.raises(Empty, match='nothing'): stack.pop()
  with pytest.raises(LookupError): stack.pop()
def test_missed():
  with pytest.raises(ValueError): add(1, 1)
def test_approx():
  assert add(0.1, 0.2) == pytest.approx(0.3)
  assert [add(0.1, 0.2)] == pytest.approx([0.3])
def test_capture(capsys):
  solution.shout()
  print('own')
  assert capsys.readouterr().out == 'program\\nown\\n'
def test_patch(monkeypatch, tmp_path):
  monkeypatch.setattr(solution, 'add', lambda a, b: 0)
  assert solution.add(1, 1) == 0
  (tmp_path / 'x').write_text('y')
def test_error(): add(None, 1)
`;
    const code = `
def add(a, b): return a + b
def shout(): print('program')
class Empty(LookupError): pass
class Stack:
  def __init__(self, items): self.items = list(items)
  def push(self, x):
    self.items.append(x)
    return self
  def pop(self):
    if not self.items: raise Empty('nothing in it')
    return self.items.pop()
  def __len__(self): return len(self.items)
`;
    const result = outcomes(await pytest(code, source));
    const of = (name: string) => result[`test_it.py::${name}`];
    assert.deepEqual(
      ['test_add[1-2-3]', 'test_add[1-1-3]', 'test_add[twos]', 'TestStack::test_push', 'TestStack::test_fresh'].map(of),
      ['pass', 'fail', 'pass', 'pass', 'pass'],
    );
    assert.deepEqual(
      ['test_raises', 'test_missed', 'test_approx', 'test_capture', 'test_patch', 'test_error'].map(of),
      ['pass', 'fail', 'pass', 'pass', 'pass', 'error'],
    );
  });

  it('runs several files with conftest.py under pytest, and reports a file that cannot be collected', async () => {
    const files = {
      'conftest.py': 'import pytest\n@pytest.fixture\ndef five(): return 5',
      'helpers.py': 'def double(x): return 2 * x',
      'test_a.py':
        'from solution import f\nfrom helpers import double\ndef test_a(five): assert f(five) == double(five)',
      'sub/test_b.py': 'from solution import f\ndef test_b(five): assert f(five) == 11',
      'test_bad.py': 'import nothing_of_this_name',
    };
    assert.deepEqual(outcomes(await pytest('def f(x): return 2 * x', files)), {
      'test_bad.py': 'error',
      'sub/test_b.py::test_b': 'fail',
      'test_a.py::test_a': 'pass',
    });
  });

  it('leaves skipped tests out, and counts expected failures as pytest does', async () => {
    const source = `
import pytest
from solution import f
@pytest.mark.skip
def test_skipped(): assert False
def test_skips_itself(): pytest.skip('no')
@pytest.mark.xfail
def test_expected(): assert f(1) == 2
@pytest.mark.xfail(strict=True)
def test_unexpected(): assert f(1) == 1
def test_plain(): assert f(1) == 1
`;
    assert.deepEqual(outcomes(await pytest('def f(x): return x', source)), {
      'test_it.py::test_expected': 'pass',
      'test_it.py::test_unexpected': 'fail',
      'test_it.py::test_plain': 'pass',
    });
  });

  it('prevents a program from skipping, ending or adding tests under pytest; a loop affects only its own test', async () => {
    const code = `
import os, unittest
class SkipTest(unittest.SkipTest): pass
def skip(): raise SkipTest('skip me')
def skip_plainly(): raise unittest.SkipTest('skip me')
def stop(): raise KeyboardInterrupt
def leave(): os._exit(0)
def loop():
  while True: pass
def test_of_program(): pass
class TestOfProgram:
  def test_x(self): pass
class Forger:
  def __eq__(self, other): return True
def forge(): return Forger()
`;
    const names = ['skip', 'skip_plainly', 'stop', 'leave', 'loop', 'forge'];
    const source = `from solution import *\n${names.map((name) => `def test_${name}():\n  assert ${name}() == 1`).join('\n')}\ndef test_last(): pass`;
    const result = outcomes(await pytest(code, source, { limits: { ...LIMITS, caseCpuSeconds: 0.3 } }));
    assert.deepEqual(
      Object.entries(result).map(([name, outcome]) => [name.replace('test_it.py::test_', ''), outcome]),
      [
        ['skip', 'error'],
        ['skip_plainly', 'error'],
        ['stop', 'error'],
        ['leave', 'error'],
        ['loop', 'timeout'],
        ['forge', 'error'],
        ['last', 'pass'],
      ],
    );
  });

  it('provides pytest and numpy in style assert, too', async () => {
    const source = `
import numpy as np, pytest
def test_np(): assert np.allclose(f([0.1, 0.2]), [0.2, 0.4])
def test_raises():
  with pytest.raises(TypeError): f(None)
def test_did_not():
  with pytest.raises(TypeError): f([])
`;
    const [result] = await sandbox.runTests([testJob('def f(xs): return [2 * x for x in xs]', source)]);
    assert.deepEqual(outcomes(result!), { test_np: 'pass', test_raises: 'pass', test_did_not: 'fail' });
  });

  it('counts reports that tests sent before their process ended', async () => {
    const source = `
import os
def test_a(): pass
def test_b(): assert False
def test_c(): os._exit(3)
def test_d(): os.kill(os.getpid(), 9)
def test_e(): pass
`;
    const runs = [(await sandbox.runTests([testJob('', source)]))[0]!, await pytest('', source)];
    for (const run of runs) assert.deepEqual(Object.values(outcomes(run)), ['pass', 'fail', 'error', 'error', 'pass']);
  });
});

describe('test source in WebAssembly', () => {
  let sandbox: Sandbox;
  before(async () => {
    sandbox = await openWasm({ size: 1 });
  });
  after(() => sandbox.close());

  testSourceConformance(() => sandbox);

  it('refuses style pytest in one line', async () => {
    await assert.rejects(sandbox.runTests([testJob('', '', { style: 'pytest' })]), (error) => {
      assert.ok(error instanceof GauntletError && error.code === 'SANDBOX_UNAVAILABLE');
      return /docker/.test(error.message) && !error.message.includes('\n');
    });
  });
});
