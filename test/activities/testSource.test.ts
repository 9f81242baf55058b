// Problems whose tests are code, and problems with a validator or a checker, in rewards and evaluations.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { recordedSteps, replayStep } from '../../chains/replayStep.js';
import type { Ref } from '../../core/base/ref.js';
import type { Chain, TestBatch } from '../../core/schema/chain.js';
import { type Problem, type ProblemSet, SPLITS } from '../../core/schema/problem.js';
import type { SuiteVerdicts } from '../../core/schema/verdicts.js';
import { readGroup, readRollouts, stepView } from '../../dashboard/data/rollouts.js';
import type { Activities } from '../../method/activities.js';
import type { ExecuteSuiteInput } from '../../method/judge.js';
import type { PrepareRunOutput } from '../../method/prepare.js';
import { readMetrics } from '../../store/runs.js';
import {
  addProblem,
  answerWith,
  type Doubles,
  memoryDoubles as doubles,
  problemSet,
  runAddProgram,
  SMALL_RUN,
} from '../support/doubles.js';
import { pluck } from '../support/pluck.js';
import { measure, runPipeline, solve } from '../support/runs.js';

const GOOD = 'def solve(x):\n    return x + 1';
const SMALL_ONLY = 'def solve(x):\n    return x + 1 if x < 3 else 0';
const WRONG = 'def solve(x):\n    return x + 9';
const ENDLESS = 'def solve(x):\n    while True: pass';

/** Tests with the inputs 0, 7, 1 and 2. The tests with 7 and 2 are hidden. */
function inSource(n: number): Problem {
  const testSource = [0, 7, 1, 2].map((x) => `assert solve(${x}) == ${x + n}`).join('\n');
  return { ...addProblem(n), baselineTests: [], hiddenTests: [], testSource, testStyle: 'assert' };
}

function mapped(change: (problem: Problem, n: number) => Problem): ProblemSet {
  const set = problemSet();
  const numberOf = ({ id }: Problem) => Number(id.split('-')[1]);
  for (const split of SPLITS) set[split] = set[split].map((problem) => change(problem, numberOf(problem)));
  return set;
}

const turn = (text: string) => ({ promptTokens: [1], answerTokens: [2, 0], text, truncated: false });
const chain = (sample: number, code: string): Chain => ({
  problemId: 'add-1',
  sample,
  turns: [{ stage: 5, ...turn(code) }],
});

describe('tests in the form of code', () => {
  let world: Doubles;
  let acts: Activities;
  let prepared: PrepareRunOutput;

  async function open(set: ProblemSet, input: object = {}): Promise<void> {
    world = await doubles({ loadProblems: async () => set });
    world.engine.info.contextLength = 4000; // used for prompts in English
    acts = createActivities(world.deps);
    prepared = await acts.prepareRun({ runId: 'run', input: { ...SMALL_RUN, ...input } });
  }

  const get = <T>(ref: Ref<T>) => world.deps.store.getJson(ref);
  const put = <T>(one: T) => world.deps.store.putJson(one);

  async function judge(codes: string[], more: Partial<ExecuteSuiteInput> = {}, written?: string) {
    const chains = await put(codes.map((code, i) => chain(i, code)));
    const batch: TestBatch = {
      targets: [{ problemId: 'add-1', chain: { chains, index: 0 }, stage: 5 }],
      samples: 1,
      turns: [{ problemId: 'add-1', chainSample: 0, stage: 5, sample: 0, ...turn(written ?? '') }],
    };
    const tests = written === undefined ? undefined : await put(batch);
    const { run } = prepared;
    const out = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains, tests, ...more });
    const [judged] = await get(out.verdicts);
    return { judged: judged!, verdicts: out.verdicts, executions: out.executions, chains };
  }
  const named = ({ suite }: SuiteVerdicts) =>
    suite.map(({ test }) => ('source' in test ? test.source : (test.args[0] as number)));

  it('serve as baseline tests and hidden tests of a problem without values', async () => {
    await open(mapped((_, n) => inSource(n)));
    const codes = [GOOD, SMALL_ONLY, WRONG, ENDLESS, 'no program', ''];
    const { judged, executions } = await judge(codes, {}, '((7,), 8)\n((3,), 0)');
    assert.deepEqual(named(judged), ['line 1', 'line 3', 7]);
    assert.deepEqual(judged.verdicts, [
      ['pass', 'pass', 'pass'],
      ['pass', 'pass', 'fail'],
      ['fail', 'fail', 'fail'],
      ['timeout', 'timeout', 'timeout'],
      ['error', 'error', 'error'],
      ['error', 'error', 'error'],
    ]);
    assert.deepEqual(
      judged.candidates.map(({ empty, unparsed = false }) => [empty, unparsed]),
      [
        [false, false],
        [false, false],
        [false, false],
        [false, false],
        [false, true],
        [true, false],
      ],
    );
    assert.equal(executions, 7); // runs the reference on values and on its source, and five programs
    assert.ok(world.sandbox.testJobs.slice(1).every(({ only }) => only!.join() === 'line 1,line 3'));
    const hidden = (await judge(codes.slice(0, 2), { suite: 'hidden' })).judged;
    assert.deepEqual(
      [named(hidden), hidden.verdicts[1]],
      [
        ['line 2', 'line 4'],
        ['fail', 'pass'],
      ],
    );
  });

  it('decide rewards, the target of the discriminator, and which mutants survive', async () => {
    await open(mapped((_, n) => inSource(n)));
    const { run, replayBuffer } = prepared;
    const { verdicts, chains } = await judge([GOOD, WRONG]);
    const position = { stage: 5, phase: 'generator', epoch: 1, step: 1, role: 'generator' } as const;
    const out = await acts.computeRewards({ run, role: 'generator', position, verdicts, chains, replayBuffer });
    assert.deepEqual([out.metrics.reward, out.metrics.baselinePassRate, out.rows], [0, 0.5, 2]);
    assert.deepEqual(out.metrics.outcomes, { passed: 1, failed: 1 });
    const { targets } = await acts.selectChains({ run, chains, replayBuffer, position });
    assert.equal((await get(targets))[0]!.chain.index, 1);
    const { judged } = await judge([GOOD], { suite: 'hidden', mutants: 5 });
    assert.deepEqual(judged.mutants, { count: 2, kills: [[0, 1], [0]] }); // `x + 2`, and a program that is right only for small x
  });

  it('do not count if the reference does not pass them', async () => {
    const broken = (n: number): Problem => ({
      ...inSource(n),
      testSource: `${inSource(n).testSource}\nassert solve(1) == 0`,
    });
    await open(mapped((_, n) => broken(n)));
    assert.deepEqual(named((await judge([GOOD])).judged), ['line 1', 'line 3']);
  });

  it('do not count in a set that an earlier version stored, so that its runs continue unchanged', async () => {
    await open(mapped((_, n) => ({ ...inSource(n), testStyle: undefined })));
    assert.deepEqual((await judge([GOOD])).judged.suite, []);
    assert.equal(world.sandbox.testJobs.length, 0);
  });

  it('train and evaluate a run, whose rewards can be computed again', async () => {
    await open(mapped((_, n) => inSource(n)));
    await runPipeline(acts, 'whole', { ...SMALL_RUN, discriminator: { enabled: false } });
    const records = await readMetrics(world.deps.store, 'whole');
    const steps = records.flatMap((record) => (record.kind === 'step' ? [record] : []));
    assert.ok(steps.length > 0 && steps.every(({ suiteSize }) => suiteSize === 2));
    assert.ok(steps.some(({ rows, passRate }) => rows > 0 && passRate > 0 && passRate < 1));
    const rates = records.flatMap((record) => (record.kind === 'evaluation' ? [record.rates.passRate] : []));
    assert.ok(
      rates.some((rate = 0) => rate > 0 && rate < 1),
      String(rates),
    );
    for (const step of await recordedSteps(world.deps, 'whole'))
      assert.deepEqual((await replayStep(world.deps, 'whole', step, true)).differs, []);
    const rollouts = await readRollouts(world.deps.store, steps.at(-1)!);
    assert.equal(stepView('whole', steps, rollouts).groups[0]!.samples[0]!.of, 2);
    const { suite } = await readGroup(world.deps.store, 'whole', rollouts, 0);
    assert.deepEqual(suite[0], { call: 'line 1', expected: 'pass', origin: 'baseline' });
    const { views } = await solve(acts, { checkpoint: { runId: 'whole', name: 'latest' }, limit: 1 });
    assert.deepEqual(pluck((await get(views))[0]!.baseline, 'call', 'valid'), [
      ['line 1', true],
      ['line 3', true],
    ]);
    const { results } = await measure(acts, { checkpoint: { runId: 'whole', name: 'latest' }, samples: 4 });
    const solved = (await get(results)).map((one) => [one.baseline, one.solved]);
    assert.ok(solved.every(([baseline, hidden]) => baseline! >= hidden!) && solved.some(([, hidden]) => hidden! > 0));
    assert.ok(
      solved.some(([baseline, hidden]) => baseline! > hidden!),
      'a hidden test shows what baseline tests miss',
    );
  });

  describe('inputs without expected values', () => {
    const unanswered = (problem: Problem, n: number): Problem => ({
      ...problem,
      baselineTests: [],
      hiddenTests: [],
      inputs: { baseline: [[0], [n]], hidden: [[7]] },
      ...(n === 2 && { referenceSolution: 'def solve(x):\n    while True: pass' }),
    });

    it('get answers from the reference before a run stores its problems', async () => {
      await open(mapped(unanswered));
      const set = await get(prepared.run.problems);
      const stored = SPLITS.flatMap((split) => set[split]);
      assert.equal(stored.length, SPLITS.flatMap((split) => problemSet()[split]).length - 1);
      for (const { id, inputs, baselineTests, hiddenTests } of stored) {
        const n = Number(id.split('-')[1]);
        assert.equal(inputs, undefined);
        assert.deepEqual(
          [baselineTests, hiddenTests],
          [
            [
              { args: [0], expected: n },
              { args: [n], expected: n + n },
            ],
            [{ args: [7], expected: 7 + n }],
          ],
        );
      }
      assert.deepEqual(set.rejected, [{ id: 'add-2', reason: 'input 1: timeout: endless' }]);
      const { quarantined } = await acts.quarantineProblems({ run: prepared.run });
      assert.equal(quarantined, 1);
    });

    it('get answers from the reference in an evaluation of other problems, too', async () => {
      await open(mapped((problem) => problem));
      world.deps.loadProblems = async () => mapped(unanswered);
      const { views } = await solve(acts, { source: 'other.jsonl', limit: 1 });
      assert.deepEqual(pluck((await get(views))[0]!.baseline, 'valid'), [true, true]);
    });
  });

  describe('validators and checkers', () => {
    /** Inputs below 5 are legal; an answer is right if it has the parity of the expected one. */
    const parity = (): void => {
      world.sandbox.run = answerWith(({ entry, code }, args) => {
        if (entry === 'validator') return { kind: 'value', value: (args[0] as number) < 5 };
        if (entry !== 'checker') return runAddProgram(code, args[0]);
        const [[x], answer, expected] = args as [[number], number, number];
        if (answer === 12) return { kind: 'error', message: 'ValueError' };
        return { kind: 'value', value: x < 100 && answer % 2 === expected % 2 };
      });
    };
    const checked = mapped((problem) => ({ ...problem, validator: 'v', checker: 'c' }));

    it('decide which generated tests are valid, and which programs pass', async () => {
      await open(checked);
      parity();
      // another right value, an illegal input, a wrong value, and a value on which the checker fails
      const { judged } = await judge([GOOD, 'def solve(x):\n    return x + 11', WRONG], {}, '((2,), 5)\n((7,), 8)');
      assert.deepEqual(named(judged), [0, 1, 2]);
      assert.deepEqual(judged.suite[2]!.test, { args: [2], expected: 3 });
      assert.deepEqual(pluck(judged.turns[0]!.tests, 'suite'), [2, null]);
      assert.deepEqual(judged.verdicts, [
        ['pass', 'pass', 'pass'],
        ['pass', 'fail', 'pass'], // 1 + 11: the checker fails on it
        ['pass', 'pass', 'pass'],
      ]);
      const second = (await judge([GOOD], {}, '((3,), 5)\n((3,), 12)')).judged;
      assert.deepEqual(pluck(second.turns[0]!.tests, 'suite'), [null, null]);
    });

    it('run in their own jobs, where no program can be seen', async () => {
      await open(checked);
      parity();
      const jobs: { entry: string; code: string; inputs: unknown }[] = [];
      const { run } = world.sandbox;
      const recording: typeof run = async (given) => {
        jobs.push(...given.map(({ entry, code, inputs }) => ({ entry, code, inputs })));
        return run(given);
      };
      world.sandbox.run = recording;
      await judge([GOOD, WRONG], {}, '((41,), 42)\n((4,), 5)');
      const functions = jobs.filter(({ entry }) => entry !== 'solve');
      assert.ok(functions.length >= 4 && functions.every(({ code }) => /^[vc]\n/.test(code)));
      const programs = jobs.filter(({ entry }) => entry === 'solve');
      assert.ok(programs.length === 3 && !JSON.stringify(programs).includes('42'));
    });

    it('decide which examples a warm start teaches', async () => {
      await open(checked, { warmStart: { discriminatorSteps: 1, generatorSteps: 1 } });
      parity();
      const { tests } = await acts.answerFreshInputs({ run: prepared.run });
      const taught = Object.values(await get(tests)).flat();
      assert.ok(taught.length > 0 && taught.every(({ args: [x] }) => (x as number) < 5));
    });
  });
});
