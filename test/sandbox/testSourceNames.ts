// The tests that a suite of test source has, and the names of the program that they see.
import assert from 'node:assert/strict';
import { styleOfTests } from '../../core/parse/testModule.js';
import type { Problem } from '../../core/schema/problem.js';
import { sourceJob } from '../../sandbox/judgeSuites.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { rowsOf } from '../support/rows.js';
import { COLLECTED, judging, LIMITS, outcomes, testJob } from './testSourceSupport.js';

export function testSourceNames(get: () => Sandbox): void {
  const { run, all } = judging(get);

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

  for (const { what, code, source, tests } of COLLECTED)
    it(`gives the tests and outcomes of one process: ${what}`, async () => {
      assert.deepEqual(outcomes(await run(code.join('\n'), source.join('\n'), { entry: 'f' })), tests);
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

  it('shows an entry whose name begins with an underscore or like a test, but no other such name', async () => {
    const named = 'def test_sum(xs): return sum(xs)\ndef test_other(xs): return 0';
    await all('pass', named, 'def check(candidate): assert test_sum([1, 2]) == 3', { entry: 'test_sum' });
    await all('error', named, 'assert test_other([]) == 0', { entry: 'test_sum' });
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

  it('gives tests the names that they take from a program, or says which names are unavailable', async () => {
    type Row = { id: string; entry: string; code: string; tests: string; message?: string };
    const rows = rowsOf<Row>('sandbox/names.jsonl').map((row) => ({ ...row, testStyle: styleOfTests(row.tests) }));
    const runnable = rows.filter(({ testStyle }) => get().info.kind === 'docker' || testStyle === 'assert');
    const jobs = runnable.map(({ id, entry, code, tests, testStyle }) => {
      const problem = { entry, testSource: tests, testStyle, functionSignature: '', referenceSolution: code };
      return sourceJob(problem as Problem, { id, code, limits: LIMITS });
    });
    for (const [i, { id, tests }] of (await get().runTests(jobs)).entries()) {
      assert.ok(tests.length > 0, id);
      const { message } = runnable[i]!;
      for (const test of tests) assert.match(test.message ?? test.outcome, new RegExp(message ?? '^pass$'), id);
    }
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
    // the name is ambiguous without an entry
    await all('error', code, source);
    await all('error', 'def sum(xs): return 0', 'assert sum([1, 2]) == 3');
    await all('fail', 'def sum(xs): return 0', 'from solution import sum\nassert sum([1, 2]) == 3');
    await all('fail', 'def sum(xs): return 0', 'assert sum([1, 2]) == 3', { entry: 'sum' });
    await all('pass', 'def sum(xs): return 3', 'assert sum([1, 2]) == 3', { entry: 'sum' });
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

  it('keeps the order of many jobs, and passes nothing from one job to the next', async () => {
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
