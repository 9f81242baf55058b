// The reasons of the health gate, tested with a fake sandbox.
import assert from 'node:assert/strict';
import { GauntletError } from '../../core/base/errors.js';
import type { CallResult, TestRun } from '../../core/schema/execution.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { reduceCall } from '../../sandbox/answers.js';
import { examineProblem } from '../../sandbox/healthGate.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { addProblem } from '../support/doubles.js';

const value = (given: Value): CallResult => ({ kind: 'value', value: given });
const tests = (...outcomes: TestRun['tests'][number]['outcome'][]): TestRun['tests'] =>
  outcomes.map((outcome, i) => ({ name: `check ${i}`, outcome, message: outcome === 'pass' ? null : `said\n${i}` }));

/** One list of answers per run of the reference; the last list repeats. */
function answering(calls: CallResult[][], sources: TestRun['tests'][] = []): Sandbox {
  const take = <T>(list: T[], i: number): T => list[Math.min(i, list.length - 1)]!;
  return {
    info: { kind: 'docker', description: 'answers as told', boundary: true },
    run: async (jobs) =>
      jobs.map((job, i) => {
        const answers = take(calls, i).slice(0, job.inputs.length);
        return { id: job.id, ms: 1, calls: answers.map((call, k) => reduceCall(job, call, k)) };
      }),
    runTests: async (jobs) => jobs.map(({ id }, i) => ({ id, ms: 1, tests: take(sources, i) })),
    close: async () => undefined,
  };
}
/** The tests 0 → 1 and 1 → 2, and the hidden tests 0 → 1, 2 → 3 and 7 → 8. */
const RIGHT = [1, 2, 1, 3, 8].map(value);
const problem = addProblem(1);
const examine = (sandbox: Sandbox, given: Problem = problem) => examineProblem(given, sandbox);
const reasonOf = async (...args: Parameters<typeof examine>): Promise<string> => {
  const health = await examine(...args);
  assert.ok('reason' in health, JSON.stringify(health));
  return health.reason;
};

describe('the health gate', () => {
  it('passes a problem whose reference passes its tests, unchanged', async () => {
    assert.deepEqual(await examine(answering([RIGHT])), { problem });
  });

  it('leaves out a problem whose inputs are too large for the sandbox', async () => {
    const refusing = { ...answering([RIGHT]) };
    refusing.run = async () => {
      throw new GauntletError('BAD_INPUT', 'a program and its inputs have 200 MiB');
    };
    assert.equal(await reasonOf(refusing), 'a program and its inputs have 200 MiB');
  });

  it('names the first test that the reference fails, with both values', async () => {
    const third = RIGHT.with(3, value(4));
    assert.equal(await reasonOf(answering([third])), 'hidden test 2 fails: expected 3, the reference answers 4');
    const late = RIGHT.with(1, { kind: 'timeout', message: 'no answer' });
    assert.equal(await reasonOf(answering([late])), 'baseline test 2: timeout: no answer');
    assert.match(await reasonOf(answering([[value('x'.repeat(500))]])), /^.{60,160}$/);
  });

  it('says where a missing module belongs', async () => {
    const lacking = (name: string): Promise<string> =>
      reasonOf(answering([[{ kind: 'error', message: `ModuleNotFoundError: No module named '${name}'` }]]));
    assert.match(
      await lacking('numpy.linalg'),
      /No module named 'numpy.linalg'; it is in the packages `numpy` \(--packages,/,
    );
    assert.match(await lacking('main'), /'main'; a program can have it in an image of yours .* program as `solution`$/);
  });

  it('reports that a reference does not parse only if every call fails for this reason', async () => {
    const unread: CallResult = { kind: 'error', message: 'SyntaxError: bad (solution.py, line 1)' };
    assert.equal(
      await reasonOf(answering([RIGHT.map(() => unread)])),
      `the reference does not parse: ${unread.message}`,
    );
    assert.equal(await reasonOf(answering([RIGHT.with(0, unread)])), `baseline test 1: error: ${unread.message}`);
  });

  it('finds answers that differ between two runs, even if only their types differ', async () => {
    const other = RIGHT.with(4, value({ f: '8.0' }));
    assert.equal(await reasonOf(answering([RIGHT, other])), 'nondeterministic: hidden test 3 was answered 8, then 8.0');
  });

  it('requires a test', async () => {
    const bare = { ...problem, baselineTests: [], hiddenTests: [] };
    assert.equal(await reasonOf(answering([[]]), bare), 'no tests');
    assert.equal(
      await reasonOf(answering([[]], [[]]), { ...bare, testSource: 'x' }),
      'no tests: the test source contains none',
    );
  });

  it('runs test source twice, after the values', async () => {
    const given = { ...problem, testSource: 'assert abs(solve(1)) == 2' };
    assert.deepEqual(await examine(answering([RIGHT], [tests('pass', 'pass')]), given), { problem: given });
    assert.equal(await reasonOf(answering([RIGHT], [tests('pass', 'fail')]), given), 'check 1: fail: said 1');
    const flaky = [tests('pass'), tests('timeout')];
    assert.equal(
      await reasonOf(answering([RIGHT], flaky), given),
      'nondeterministic: check 0 gives pass, then timeout',
    );
    assert.match(await reasonOf(answering([[value(0)]], [tests('pass')]), given), /^baseline test 1 fails/);
  });

  it('names what tests and program do not share, unless the error already names the missing thing', async () => {
    const failing = (message: string) => answering([RIGHT], [[{ name: 'test_a', outcome: 'error', message }]]);
    const named = {
      'import tempfile\nwith tempfile.NamedTemporaryFile() as f: pass': 'tempfile',
      'def test_a(tmp_path): pass': 'tmp_path',
      "open('x', 'w').write('y')": 'open',
      "os.environ['A'] = 'b'": 'os.environ',
      'np.random.seed(3)': 'np.random.seed',
      "@patch('time.time')": 'patch',
      "with mock.patch.object(time, 'time'): pass": 'patch.object',
      'with self.assertLogs(): pass': 'assertLogs',
      'with pytest.warns(UserWarning): pass': 'warns',
      'assert os.path.join("a") and sys.maxsize and reopen(1)': undefined,
    };
    for (const [testSource, name] of Object.entries(named)) {
      const reason = await reasonOf(failing('KeyError'), { ...problem, testSource });
      assert.equal(/; the tests use `(.*)`, but the program has files/.exec(reason)?.[1], name, testSource);
      assert.ok(!/use/.test(await reasonOf(failing("No module named 'x'"), { ...problem, testSource })));
    }
  });

  it('leaves out a problem whose only tests pass for a program that raises at every call', async () => {
    const sandbox = (onSilence: TestRun['tests']): Sandbox => ({
      ...answering([RIGHT]),
      runTests: async (jobs) =>
        jobs.map(({ id, code }) => ({
          id,
          ms: 1,
          tests: /class Silence/.test(code) ? onSilence : tests('pass', 'pass'),
        })),
    });
    const given: Problem = {
      ...problem,
      baselineTests: [],
      hiddenTests: [],
      testSource: 'def test_own(): assert own(1) == 2',
    };
    assert.deepEqual(await examine(sandbox(tests('pass', 'error')), given), { problem: given });
    assert.match(
      await reasonOf(sandbox(tests('pass', 'pass')), given),
      /^its tests pass for a program that only raises/,
    );
    const withValues = { ...given, baselineTests: problem.baselineTests };
    assert.ok('problem' in (await examine(sandbox(tests('pass', 'pass')), withValues)), 'values test it');
  });

  it('leaves out a problem whose tests need a style that the sandbox does not support', async () => {
    const sandbox = answering([RIGHT]);
    sandbox.runTests = async () => {
      throw new GauntletError('SANDBOX_UNAVAILABLE', 'no pytest here');
    };
    const given: Problem = { ...problem, testSource: 'x', testStyle: 'pytest' };
    assert.equal(await reasonOf(sandbox, given), 'no pytest here');
  });

  it('requires that the validator allows every input and the checker accepts every answer of the reference', async () => {
    /** The reference gives these answers, and the functions of the problem answer the third call with `said`. */
    const saying = (said: CallResult, calls = RIGHT): Sandbox => ({
      ...answering([calls]),
      run: async (jobs) =>
        jobs.map((job) => {
          const isAsked = job.entry !== problem.entry;
          const told = job.inputs.map((_, i) => (isAsked ? (i === 2 ? said : value(true)) : calls[i]!));
          return { id: job.id, ms: 1, calls: told.map((call, k) => reduceCall(job, call, k)) };
        }),
    });
    const validated: Problem = { ...problem, validator: 'v' };
    const checked: Problem = { ...problem, checker: 'c' };
    const late: CallResult = { kind: 'timeout', message: 'no answer' };
    assert.deepEqual(await examine(saying(value(true)), validated), { problem: validated });
    assert.equal(await reasonOf(saying(value(false)), validated), 'hidden test 1: the validator refuses the input');
    assert.equal(await reasonOf(saying(late), validated), 'hidden test 1: the validator fails: timeout: no answer');
    const asserts = (message: string) => reasonOf(saying({ kind: 'error', message }), validated);
    assert.equal(await asserts('AssertionError'), 'hidden test 1: the validator refuses the input');
    assert.equal(await asserts('AssertionError: not\n1'), 'hidden test 1: the validator refuses the input: not 1');
    assert.match(await asserts('ValueError: x'), /^hidden test 1: the validator fails: error: ValueError: x$/);
    const other = RIGHT.with(2, value(99)); // differs from the expected value, but is right
    assert.deepEqual(await examine(saying(value(true), other), checked), { problem: checked });
    const refused = "hidden test 1: the checker refuses the reference's answer 99";
    assert.equal(await reasonOf(saying(value(false), other), checked), refused);
    const odd = 'hidden test 1: the checker fails: error: the checker returned neither True nor False';
    assert.equal(await reasonOf(saying(value(1), other), checked), odd);
  });

  it('turns inputs into tests with the answers of the reference', async () => {
    const bare = { ...problem, baselineTests: [], hiddenTests: [] };
    const inputs = { baseline: [[0]], hidden: [[1], [2]] };
    assert.deepEqual(await examine(answering([[1, 2, 3].map(value)]), { ...bare, inputs }), {
      problem: {
        ...bare,
        baselineTests: [{ args: [0], expected: 1 }],
        hiddenTests: [
          { args: [1], expected: 2 },
          { args: [2], expected: 3 },
        ],
      },
    });
    const truths = await examine(answering([[true, false].map(value)]), {
      ...bare,
      inputs: { baseline: [[0]], hidden: [[1]], truth: true },
    });
    assert.ok('problem' in truths);
    assert.deepEqual(truths.problem.hiddenTests, [{ args: [1], expected: false, truth: true }]);
  });

  it('leaves out a few inputs without an answer, and says which', async () => {
    /** The reference adds 1, but fails for numbers from 10 on; the validator refuses numbers from 20 on. */
    const sandbox: Sandbox = {
      ...answering([]),
      run: async (jobs) =>
        jobs.map((job) => {
          const answer = (n: number): CallResult => {
            if (job.entry === 'validator') return value(n < 20);
            return n >= 10 && n < 20 ? { kind: 'error', message: 'ValueError' } : value(n + 1);
          };
          const told = job.inputs.map(([n]) => answer(Number(n)));
          return { id: job.id, ms: 1, calls: told.map((call, k) => reduceCall(job, call, k)) };
        }),
    };
    const given = (baseline: number[], hidden: number[]): Problem => {
      const inputs = { baseline: baseline.map((n) => [n]), hidden: hidden.map((n) => [n]) };
      return { ...problem, baselineTests: [], hiddenTests: [], validator: 'v', inputs };
    };
    const health = await examine(sandbox, given([0, 1], [20, 1, 10, 2, 3, 4, 5, 6]));
    assert.ok('problem' in health);
    const inputsOf = (tests: Problem['hiddenTests']) => tests.map(({ args }) => args[0]);
    assert.deepEqual(inputsOf(health.problem.baselineTests), [0, 1]);
    assert.deepEqual(inputsOf(health.problem.hiddenTests), [1, 2, 3, 4, 5, 6]);
    const id = `2 of 10 inputs of ${problem.id}`;
    assert.deepEqual(health.leftOut, { id, reason: 'for example (10): error: ValueError' });
    assert.equal(await reasonOf(sandbox, given([], [10])), 'input 1: error: ValueError');
    assert.equal(await reasonOf(sandbox, given([0, 10, 11], [1, 12])), 'input 2: error: ValueError');
  });

  it('rethrows a fault of the sandbox', async () => {
    const sandbox = answering([RIGHT]);
    sandbox.run = async () => {
      throw new GauntletError('SANDBOX_FAULT', 'gone');
    };
    await assert.rejects(examine(sandbox), /gone/);
  });
});
