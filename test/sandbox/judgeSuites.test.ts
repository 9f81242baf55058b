// Suites with checkers and source tests, and the validators of problems, on both backends.
import assert from 'node:assert/strict';
import { GauntletError } from '../../core/base/errors.js';
import type { GivenTest } from '../../core/rewards/suite.js';
import { callingSchema } from '../../core/schema/calling.js';
import type { Limits, Verdict } from '../../core/schema/execution.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { checkerOfScript } from '../../data/checkers.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import { examineProblem } from '../../sandbox/healthGate.js';
import { askProblems, judgeSuites, type SuiteRun, sourceTestsOf } from '../../sandbox/judgeSuites.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { requireDocker } from './docker.js';
import { hostileJudges, PROBLEM, SHORT, source, value } from './hostileJudges.js';
import { LIMITS } from './testSourceSupport.js';

const SAME = 'def checker(inputs, answer, expected): return answer == expected\n';
const STDIO = callingSchema.parse({ style: 'stdio' });
const PAIRS = `
def checker(inputs, answer, expected):
  xs, total = inputs
  i, j = answer
  return i != j and xs[i] + xs[j] == total
`;
const BACKENDS = [
  { name: 'Docker', open: () => openDocker({ size: 1 }) },
  { name: 'WebAssembly', open: () => openWasm({ size: 1 }) },
] as const;

for (const { name, open } of BACKENDS)
  describe(`judging suites: ${name}`, () => {
    let sandbox: Sandbox;
    before(async function () {
      if (name === 'Docker') await requireDocker(this);
      sandbox = await open();
    });
    after(() => sandbox?.close());

    type Fields = Partial<Problem>;
    const judge = async (fields: Fields, tests: GivenTest[], codes: string[], limits = LIMITS): Promise<SuiteRun[]> => {
      const problem = { ...PROBLEM, ...fields };
      return judgeSuites(
        sandbox,
        codes.map((code, i) => ({ id: String(i), code, problem, tests, limits })),
      );
    };
    const verdicts = async (...args: Parameters<typeof judge>): Promise<Verdict[][]> =>
      (await judge(...args)).map((run) => run.verdicts);

    it('lets a checker accept every right answer, and keeps the verdict of a program without an answer', async () => {
      const tests = [{ args: [[1, 2, 3, 4], 5], expected: [0, 3] }];
      const codes = ['[1, 2]', '(3, 0)', '[0, 0]', '[0, 9]', 'None', '1 / 0'].map(
        (answer) => `def f(xs, total): return ${answer}`,
      );
      assert.deepEqual(await verdicts({ checker: PAIRS }, tests, codes), [
        ['pass'],
        ['pass'],
        ['fail'],
        ['fail'], // the checker raises an error for it
        ['fail'],
        ['error'],
      ]);
    });

    it('starts a script with three files, and accepts a program if the script prints 1', async () => {
      const script = `
import sys
given, right, own = (open(name).read().split() for name in sys.argv[1:])
if not own: sys.exit('nothing')
print(int(sorted(own) == sorted(right) and len(given) == 2 and __name__ == '__main__'))
sys.exit(0)
`;
      const fields: Fields = { calling: { ...STDIO }, checker: checkerOfScript(script) };
      const tests = [value('3 4\n', '3 4'), value('5 6\n', '6 5')];
      const codes = ['print(*reversed(input().split()))', 'print(3, 4)', 'print()', 'print("é\\ud800" * 2)'];
      assert.deepEqual(await verdicts(fields, tests, codes), [
        ['pass', 'pass'],
        ['pass', 'fail'],
        ['fail', 'fail'],
        ['fail', 'fail'],
      ]);
    });

    it('shows a checker the original arguments, and keeps its changes from other calls', async () => {
      const checker = `
def checker(inputs, answer, expected):
  right = inputs == [[3, 1]] and sorted(inputs[0]) == answer == expected
  inputs[0].clear(); inputs.clear(); answer.clear(); expected.clear()
  return right
`;
      const tests = [0, 1].map((): GivenTest => ({ args: [[3, 1]], expected: [1, 3] }));
      const changing = 'def f(xs):\n  xs.sort()\n  return xs';
      assert.deepEqual(await verdicts({ checker }, tests, [changing]), [['pass', 'pass']]);
    });

    it('accepts True from a checker, including that of numpy, and no other value', async () => {
      const checker = `
class bool_:
  def __init__(self, x): self.x = x
  def __bool__(self): return self.x
def checker(inputs, answer, expected):
  return [True, bool_(True), bool_(False), 1, 'yes', [True], None][answer]
`;
      const tests = [0, 1, 2, 3, 4, 5, 6].map((k) => value(k, k));
      const said = ['pass', 'pass', 'fail', 'fail', 'fail', 'fail', 'fail'];
      assert.deepEqual(await verdicts({ checker }, tests, ['def f(x): return x']), [said]);
    });

    it('joins source tests and values in one suite, and runs only tests of the suite', async () => {
      const testSource = `
import time
def test_one(): assert f(1) == 2
def test_slow():
  while True: pass
class TestMore:
  def test_two(self): assert f(2) == 3
assert f(5) == 6
`;
      const tests = [value(1, 2), ...source('test_one', 'TestMore.test_two', 'line 8'), value(7, 8)];
      const codes = ['x + 1', 'x + 1 if x < 3 else 0', '2', 'y'].map((answer) => `def f(x): return ${answer}`);
      const fields: Fields = { testSource, testStyle: 'assert' };
      assert.deepEqual(await verdicts(fields, tests, [...codes, 'def f(x) return']), [
        ['pass', 'pass', 'pass', 'pass', 'pass'],
        ['pass', 'pass', 'pass', 'fail', 'fail'],
        ['pass', 'pass', 'fail', 'fail', 'fail'],
        ['error', 'error', 'error', 'error', 'error'],
        ['error', 'error', 'error', 'error', 'error'],
      ]);
      const runs = await judge(fields, source('test_one'), [codes[0]!, 'def f(x) return']);
      assert.deepEqual(
        runs.map(({ parses }) => parses),
        [true, false],
      );
    });

    it('gives each source test its own outcome', async () => {
      const testSource = 'assert f(1)\nassert f(2)\nassert f(3)\nassert f(4)\n';
      const code = 'import os\ndef f(x):\n  if x == 2: os._exit(0)\n  while x == 3: pass\n  return x == 1\n';
      const tests = source('line 1', 'line 2', 'line 3', 'line 4', 'line 5');
      assert.deepEqual(await verdicts({ testSource, testStyle: 'assert' }, tests, [code], SHORT), [
        ['pass', 'error', 'timeout', 'fail', 'timeout'], // there is no line 5, so the worst of the other outcomes counts
      ]);
    });

    it('passes check(candidate) a method of a new object for the entry Class.method', async () => {
      const code =
        'class Solution:\n  def __init__(self): self.n = 0\n  def f(self, x, y=1):\n    self.n += 1\n    return x + y * self.n\n';
      const fields: Fields = {
        entry: 'Solution.f',
        testSource: 'def check(candidate):\n  assert candidate(1) == 2\n  assert candidate(2, y=2) == 4\n',
        testStyle: 'assert',
      };
      assert.deepEqual(await verdicts(fields, source('check'), [code, 'def f(x): return 2']), [['pass'], ['error']]);
      // the source uses names and a recursion depth that interview sites provide, but has no solution
      const deep =
        'class Solution:\n  def f(self, n: Optional[int]) -> List[int]: return [n] if n < 1 else self.f(n - 1) + [gcd(n, n)][:0]\n';
      const more: Fields = {
        ...fields,
        testSource: 'def check(candidate): assert candidate(5000) == [0]\nassert "List" not in dir()\n',
      };
      assert.deepEqual(await verdicts(more, source('check', 'line 2'), [deep]), [['pass', 'pass']]);
      const provided: Fields = { ...fields, entry: 'Counter.total' };
      assert.deepEqual(await verdicts(provided, source('check'), ['x = 1']), [['error']]);
    });

    it('runs pytest if it is installed; without it the health gate leaves the problem out', async () => {
      const testSource = `
import pytest
from solution import f
@pytest.mark.parametrize('x', [1, 2])
def test_next(x): assert f(x) == x + 1
def test_text():
  with pytest.raises(TypeError): f('a')
`;
      const problem: Problem = { ...PROBLEM, baselineTests: [], hiddenTests: [], testSource, testStyle: 'pytest' };
      const health = await examineProblem(problem, sandbox, { limits: LIMITS });
      if (name === 'WebAssembly') {
        assert.deepEqual(health, { reason: 'tests of style pytest need --sandbox docker: WebAssembly has no pytest' });
        return;
      }
      assert.deepEqual(health, { problem });
      const tests = (await sourceTestsOf(sandbox, [problem], LIMITS)).get(problem.id)!;
      assert.deepEqual(
        tests.map((test) => [test.name.replace(/^.*::/, ''), test.isValid]),
        [
          ['test_next[1]', true],
          ['test_next[2]', true],
          ['test_text', true],
        ],
      );
      const all = source(...tests.map((test) => test.name));
      const codes = ['x + 1', '2', 'str(x)'].map((answer) => `def f(x): return ${answer}`);
      assert.deepEqual(await verdicts(problem, all, [...codes, 'import absent', 'while True: pass'], SHORT), [
        ['pass', 'pass', 'pass'],
        ['pass', 'fail', 'fail'],
        ['fail', 'fail', 'fail'],
        ['error', 'error', 'error'],
        ['timeout', 'timeout', 'timeout'],
      ]);
    });

    it('does not count a source test that the reference does not pass', async () => {
      const testSource = 'assert f(1) == 2\nassert f(1) == 3\n';
      const problem: Problem = { ...PROBLEM, testSource, testStyle: 'assert' };
      assert.deepEqual(
        [...(await sourceTestsOf(sandbox, [problem], LIMITS)).values()],
        [
          [
            { name: 'line 1', isValid: true },
            { name: 'line 2', isValid: false },
          ],
        ],
      );
      const stored: Problem = { ...PROBLEM, testSource };
      assert.equal((await sourceTestsOf(sandbox, [stored], LIMITS)).size, 0, 'a set of an earlier version');
    });

    hostileJudges(() => sandbox, 5);
  });

describe('questions for validators and checkers', () => {
  it('have the limits of a program, and are split so that they fit into a frame', async () => {
    const jobs: { cpu: number; calls: number }[] = [];
    const sandbox = {
      run: async (given: { inputs: Value[][]; limits: Limits }[]) => {
        jobs.push(...given.map(({ inputs, limits }) => ({ cpu: limits.cpuSeconds, calls: inputs.length })));
        return given.map(({ inputs }) => ({
          id: '',
          ms: 1,
          calls: inputs.map(() => ({ kind: 'value', value: true })),
        }));
      },
    } as unknown as Sandbox;
    const large = 'x'.repeat(3 << 20);
    const inputs = Array.from({ length: 5 }, () => [large]);
    const [said] = await askProblems(sandbox, [
      { id: 'a', code: 'x', entry: 'validator', inputs, limits: { ...LIMITS, cpuSeconds: 2, caseCpuSeconds: 1 } },
      { id: 'b', code: undefined, entry: 'validator', inputs, limits: LIMITS },
    ]);
    assert.equal(said!.length, 5);
    assert.deepEqual(jobs, [
      { cpu: 2, calls: 2 },
      { cpu: 2, calls: 2 },
      { cpu: 2, calls: 1 },
    ]);
  });

  it('are asked about few programs at a time, so that each has as much memory as a reference', async () => {
    const batches: string[] = [];
    const sandbox = {
      run: async (given: { id: string; entry: string; inputs: Value[][]; reduce?: object }[]) => {
        batches.push(`${given.length} ${given[0]!.entry} ${given[0]!.reduce ? 'reduced' : 'kept'}`);
        return given.map(({ id, entry }) => ({
          id,
          ms: 1,
          calls: [{ kind: 'value', value: entry === 'checker' }],
        }));
      },
    } as unknown as Sandbox;
    const problem = { ...PROBLEM, checker: SAME };
    const jobs = Array.from({ length: 11 }, (_, i) => ({
      id: String(i),
      code: 'x',
      problem: i === 3 ? PROBLEM : problem,
      tests: [value(1, 2)],
      limits: LIMITS,
    }));
    const runs = await judgeSuites(sandbox, jobs);
    assert.deepEqual(
      runs.map(({ verdicts: [verdict] }) => verdict),
      jobs.map(({ id }) => (id === '3' ? 'fail' : 'pass')),
    );
    assert.deepEqual(batches, ['1 f reduced', '8 f kept', '8 checker reduced', '2 f kept', '2 checker reduced']);
  });

  it('pass on a fault of the sandbox, which is no verdict', async () => {
    const gone = new GauntletError('SANDBOX_FAULT', 'gone');
    const sandbox = {
      run: async ([job]: { entry: string; inputs: Value[][] }[]) => {
        if (job!.entry === 'checker') throw gone;
        return [{ id: '', ms: 1, calls: [{ kind: 'value', value: 2 }] }];
      },
    } as unknown as Sandbox;
    const job = {
      id: 'a',
      code: 'x',
      problem: { ...PROBLEM, checker: SAME },
      tests: [{ args: [1], expected: 2 }],
      limits: LIMITS,
    };
    await assert.rejects(judgeSuites(sandbox, [job]), gone);
  });
});
