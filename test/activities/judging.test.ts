import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import type { Ref } from '../../core/base/ref.js';
import type { Chain, Stage, TestBatch, TestTarget } from '../../core/schema/chain.js';
import { STAGES } from '../../core/schema/chain.js';
import type { TestCase } from '../../core/schema/problem.js';
import type { Position } from '../../core/schema/runRef.js';
import type { Activities } from '../../method/activities.js';
import type { PrepareRunOutput } from '../../method/prepare.js';
import { addProblem, answerWith, type Doubles, memoryDoubles as doubles, SMALL_RUN } from '../support/doubles.js';
import { pluck } from '../support/pluck.js';

const POSITION: Position = { stage: 5, phase: 'generator', epoch: 1, step: 1, role: 'generator' };
const GOOD = 'def solve(x):\n    return x + 1';
const SMALL_ONLY = 'def solve(x):\n    return x + 1 if x < 3 else 0';
const WRONG = 'def solve(x):\n    return x + 9';

/** A chain with one token per stage. The last answer is the program. */
function chain(sample: number, code: string, problemId = 'add-1', truncated = false): Chain {
  const turns = STAGES.map((stage) => ({
    stage,
    promptTokens: [10 + stage],
    answerTokens: [20 + stage, 0],
    text: stage === 5 ? code : `stage ${stage}`,
    truncated: truncated && stage === 5,
  }));
  return { problemId, sample, turns };
}

function testTurn(text: string, sample = 0, stage: Stage = 5) {
  return {
    problemId: 'add-1',
    chainSample: 0,
    stage,
    sample,
    promptTokens: [7],
    answerTokens: [8, 9, 0],
    text,
    truncated: false,
  };
}

describe('the judging activities', () => {
  let world: Doubles;
  let acts: Activities;
  let prepared: PrepareRunOutput;

  beforeEach(async () => {
    world = await doubles();
    acts = createActivities(world.deps);
    prepared = await acts.prepareRun({ runId: 'run', input: SMALL_RUN });
  });

  const put = <T>(value: T) => world.deps.store.putJson(value);
  const get = <T>(ref: Ref<T>) => world.deps.store.getJson(ref);
  const tests = async (chains: Chain[], texts: string[][]): Promise<Ref<TestBatch>> => {
    const list = await put(chains);
    const targets = texts.map(
      (_, index): TestTarget => ({ problemId: 'add-1', chain: { chains: list, index }, stage: 5 }),
    );
    const turns = texts.flatMap((group) => group.map((text, sample) => testTurn(text, sample)));
    return put({ targets, samples: texts[0]!.length, turns });
  };

  describe('executeSuite', () => {
    it('judges every sample on the baseline tests and the valid generated tests', async () => {
      const chains = [chain(0, GOOD), chain(1, SMALL_ONLY), chain(2, WRONG), chain(3, '')];
      const written = await tests(chains, [['((7,), 8)\n((3,), 0)']]); // the second test expects a wrong value
      const { run } = prepared;
      const out = await acts.executeSuite({
        run,
        per: 'problem',
        suite: 'baseline',
        chains: await put(chains),
        tests: written,
      });
      const [cell] = await get(out.verdicts);
      assert.deepEqual(
        cell!.suite.map(({ origin, test }) => [origin, (test as TestCase).args[0]]),
        [
          ['baseline', 0],
          ['baseline', 1],
          ['generated', 7],
        ],
      );
      assert.deepEqual(cell!.verdicts, [
        ['pass', 'pass', 'pass'],
        ['pass', 'pass', 'fail'],
        ['fail', 'fail', 'fail'],
        ['error', 'error', 'error'],
      ]);
      assert.deepEqual(pluck(cell!.turns[0]!.tests, 'suite'), [2, null]);
      assert.equal(out.executions, 4); // the reference and three distinct programs
    });

    it("gives the reference as much time per turn as a program, and expects the reference's results", async () => {
      const { run } = prepared;
      const seconds: (number | undefined)[] = [];
      const execute = world.sandbox.run.bind(world.sandbox);
      world.sandbox.run = (jobs) => {
        for (const { id, limits } of jobs) if (id.startsWith('reference:')) seconds.push(limits?.cpuSeconds);
        return execute(jobs);
      };
      const written = await tests([chain(0, GOOD)], [['((7,), 8)', '((3,), 4)', 'no test']]);
      const chains = await put([chain(0, GOOD)]);
      await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains, tests: written });
      assert.deepEqual(seconds, [2 * prepared.config.limits.cpuSeconds]);
    });

    for (const prompts of ['tiny', 'instruct'] as const)
      it(`takes the expected values of inputs from the reference (${prompts} prompts)`, async () => {
        const short = prompts === 'instruct' ? { stages: [5], schedule: {} } : {}; // five of these prompts do not fit
        const input = { ...SMALL_RUN, ...short, prompts, discriminator: { expected: 'reference' } };
        const { run } = await acts.prepareRun({ runId: `inputs-${prompts}`, input });
        const written = prompts === 'tiny' ? '((7,), 0)\n(("a",), 0)' : 'solve(7)\nsolve("a")'; // 'a' + 1 raises an error
        const out = await acts.executeSuite({
          run,
          per: 'problem',
          suite: 'baseline',
          chains: await put([chain(0, GOOD), chain(1, SMALL_ONLY)]),
          tests: await tests([chain(0, GOOD)], [[written]]),
        });
        const [cell] = await get(out.verdicts);
        assert.deepEqual(cell!.suite.at(-1), { origin: 'generated', test: { args: [7], expected: 8 } });
        assert.deepEqual(
          cell!.verdicts.map((each) => each.at(-1)),
          ['pass', 'fail'],
        );
        assert.deepEqual(pluck(cell!.turns[0]!.tests, 'suite'), [2, null]);
      });

    it('sends programs and inputs to the sandbox, but no expected values', async () => {
      const chains = [chain(0, GOOD)];
      const written = await tests(chains, [['((41,), 42)']]);
      await acts.executeSuite({
        run: prepared.run,
        per: 'problem',
        suite: 'hidden',
        chains: await put(chains),
        tests: written,
      });
      assert.ok(world.sandbox.jobs.length > 1);
      assert.ok(world.sandbox.jobs.every((job) => !JSON.stringify(job).includes('42')));
    });

    it('judges one chain per target on hidden tests if requested', async () => {
      const chains = [chain(0, SMALL_ONLY), chain(1, GOOD)];
      const written = await tests(chains, [['((7,), 8)'], ['((7,), 8)']]);
      const out = await acts.executeSuite({ run: prepared.run, per: 'target', suite: 'hidden', tests: written });
      const cells = await get(out.verdicts);
      assert.deepEqual(pluck(cells, 'verdicts'), [[['pass', 'pass', 'fail']], [['pass', 'pass', 'pass']]]);
    });

    it('counts missing tests as lost', async () => {
      const chains = [chain(0, GOOD)];
      const out = await acts.executeSuite({
        run: prepared.run,
        per: 'target',
        suite: 'baseline',
        tests: await tests(chains, [['((7,), 8)', 'nothing']]),
      });
      const [cell] = await get(out.verdicts);
      assert.deepEqual(pluck(cell!.turns, 'lost'), [1, 2]); // the preset requires two
    });
  });

  describe('computeRewards', () => {
    it('rewards chains by their pass rate, and trains only the tokens of the stage', async () => {
      const chains = await put([chain(0, GOOD), chain(1, WRONG)]);
      const { run, replayBuffer } = prepared;
      const { verdicts } = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains });
      const out = await acts.computeRewards({
        run,
        role: 'generator',
        position: POSITION,
        verdicts,
        chains,
        replayBuffer,
      });
      assert.deepEqual(
        [out.metrics.reward, out.metrics.passRate, out.rows, out.replayBuffer],
        [0, 0.5, 2, replayBuffer],
      );
      const rows = await get(out.trajectories);
      assert.deepEqual(
        rows.map((row) => Math.sign(row.advantage)),
        [1, -1],
      );
      const [row] = rows;
      assert.deepEqual(
        row!.tokens,
        STAGES.flatMap((stage) => [10 + stage, 20 + stage, 0]),
      );
      assert.deepEqual(row!.mask, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
      assert.deepEqual(row!.oldLogprobs, new Array(15).fill(0));
    });

    it('drops a group whose rewards are equal', async () => {
      const chains = await put([chain(0, GOOD), chain(1, GOOD)]);
      const { run, replayBuffer } = prepared;
      const { verdicts } = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains });
      const out = await acts.computeRewards({
        run,
        role: 'generator',
        position: POSITION,
        verdicts,
        chains,
        replayBuffer,
      });
      assert.equal(out.rows, 0);
    });

    it('keeps samples with the mean reward if the loss has a KL penalty or an entropy bonus', async () => {
      const two = 'def solve(x):\n    return 1 if x == 0 else 0';
      world.sandbox.run = answerWith(({ code }, [x]) => ({
        kind: 'value',
        value: code === two ? Number(x === 0) : code === GOOD ? Number(x) + 1 : -1,
      }));
      const chains = await put([chain(0, GOOD), chain(1, two), chain(2, WRONG)]); // pass rates 1, 0.5 and 0
      const rows = async (runId: string, ppo: object) => {
        const input = { ...SMALL_RUN, ppo: { ...SMALL_RUN.ppo, ...ppo } };
        const { run, replayBuffer } = await acts.prepareRun({ runId, input });
        const { verdicts } = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains });
        const role = { run, role: 'generator', position: POSITION } as const;
        return (await acts.computeRewards({ ...role, verdicts, chains, replayBuffer })).rows;
      };
      assert.equal(await rows('plain', {}), 2);
      assert.equal(await rows('kl', { klCoefficient: 0.1 }), 3);
      assert.equal(await rows('entropy', { entropyBonus: 0.1 }), 3);
    });

    it('rewards valid and catching tests, and adds valid tests to the pool', async () => {
      const written = await tests(
        [chain(0, SMALL_ONLY)],
        [['((7,), 8)\n((4,), 5)', '((2,), 3)\n((0,), 1)', '((2,), 9)\n((1,), 9)', 'nothing']],
      );
      const { run, replayBuffer } = prepared;
      const position: Position = { ...POSITION, role: 'discriminator' };
      const { verdicts } = await acts.executeSuite({ run, per: 'target', suite: 'baseline', tests: written });
      const out = await acts.computeRewards({
        run,
        role: 'discriminator',
        position,
        verdicts,
        tests: written,
        replayBuffer,
      });
      // shifted: 0.4 · credit − 0.6 · invalid + 0.6 · caught; the second and third sample share input 2; the last has none: −1
      assert.ok(Math.abs(out.metrics.reward - (1 + 0.3 - 0.6 - 1) / 4) < 1e-9, String(out.metrics.reward));
      assert.deepEqual([out.metrics.validity, out.metrics.bugCatchRate, out.metrics.outcomes.empty], [0.5, 0.25, 1]);
      const rows = await get(out.trajectories);
      assert.ok(
        rows.some(
          ({ tokens, mask, advantage }) => advantage > 0 && tokens.join() === '7,8,9,0' && mask.join() === '0,1,1,1',
        ),
      );
      const { pool } = await get(out.replayBuffer);
      assert.deepEqual(
        pool['add-1']!.map((test) => 'args' in test && test.args[0]),
        [7, 4, 2, 0],
      );
    });
  });

  describe('judging without a reference', () => {
    const WRONG_LATER = 'def solve(x):\n    return x + 1 if x < 3 else 0';
    const alone = async (input: object = {}) =>
      (await acts.prepareRun({ runId: 'votes', input: { ...SMALL_RUN, reference: 'none', ...input } })).run;

    it('counts tests if the sampled programs agree, but not if all programs agree', async () => {
      const run = await alone();
      const ids: string[] = [];
      const execute = world.sandbox.run.bind(world.sandbox);
      world.sandbox.run = (jobs) => {
        ids.push(...jobs.map(({ id }) => id));
        return execute(jobs);
      };
      const chains = [chain(0, GOOD), chain(1, GOOD), chain(2, WRONG_LATER), chain(3, '')];
      const written = await tests(chains, [['((7,), 8)\n((2,), 3)', '((9,), 0)']]); // all programs agree on 2; 9 gives 10
      const out = await acts.executeSuite({
        run,
        per: 'problem',
        suite: 'baseline',
        chains: await put(chains),
        tests: written,
      });
      const [cell] = await get(out.verdicts);
      assert.deepEqual(
        cell!.turns.flatMap((turn) => turn.tests).map((test) => ['args' in test && test.args, test.suite]),
        [
          [[7], 2],
          [[2], 3], // the sample without a program does not agree
          [[9], null],
        ],
      );
      assert.deepEqual(
        cell!.verdicts.map((own) => own[2]),
        ['pass', 'pass', 'fail', 'error'],
      );
      assert.deepEqual(
        ids.filter((id) => !/^\d/.test(id)),
        ['vote:add-1:0', 'vote:add-1:1'],
      );
      assert.equal(out.executions, 4);
      const { dropped, given, wrong, inputs } = cell!.votes!;
      assert.deepEqual({ dropped, given, wrong, inputs }, { dropped: 0, given: 2, wrong: 0, inputs: 3 });
      const figures = await acts.measureStep({ run, role: 'generator', verdicts: out.verdicts });
      assert.deepEqual([figures.voteDropped, figures.voteErrors], [0, 0]);
      assert.ok(figures.voteAgreement! > 0.6 && figures.voteAgreement! < 1);
    });

    it('lets all chains of a problem vote on the tests of one of them', async () => {
      const run = await alone();
      const list = await put([chain(0, WRONG_LATER), chain(1, GOOD), chain(2, GOOD), chain(0, WRONG, 'add-2')]);
      const target: TestTarget = { problemId: 'add-1', chain: { chains: list, index: 0 }, stage: 5 };
      const written = await put({
        targets: [target],
        samples: 2,
        turns: [testTurn('((7,), 8)'), testTurn('((7,), 0)', 1)],
      });
      const out = await acts.executeSuite({ run, per: 'target', suite: 'baseline', tests: written });
      const [cell] = await get(out.verdicts);
      assert.deepEqual(
        cell!.turns.map((turn) => turn.tests[0]!.suite),
        [2, null],
      );
      assert.deepEqual(cell!.verdicts, [['pass', 'pass', 'fail']]);
    });

    it('measures with the reference if the problem has one', async () => {
      const run = await alone();
      const chains = [chain(0, WRONG), chain(1, WRONG), chain(2, GOOD)];
      const written = await tests(chains, [['((5,), 6)']]);
      const list = await put(chains);
      const judge = (suite: 'baseline' | 'hidden') =>
        acts.executeSuite({ run, per: 'problem', suite, chains: list, tests: written });
      const [rewarded] = await get((await judge('baseline')).verdicts);
      assert.deepEqual(
        rewarded!.turns[0]!.tests[0]!.suite,
        2,
        'the wrong programs pass no given test: they have no weight',
      );
      const [measured] = await get((await judge('hidden')).verdicts);
      assert.equal(measured!.votes, undefined);
      assert.deepEqual(measured!.turns[0]!.tests[0]!.suite, 3);
    });
  });

  describe('mistake book', () => {
    /** Judges the chains of one generator step and computes its rewards. */
    async function step(run: PrepareRunOutput['run'], codes: string[], written: string | undefined, buffer: string) {
      const chains = codes.map((code, sample) => chain(sample, code));
      const digest = await put(chains);
      const suite = { run, per: 'problem', suite: 'baseline', chains: digest, replayBuffer: buffer } as const;
      const turns = written === undefined ? {} : { tests: await tests([chains[0]!], [[written]]) };
      const { verdicts } = await acts.executeSuite({ ...suite, ...turns });
      const input = {
        run,
        role: 'generator',
        position: POSITION,
        verdicts,
        chains: digest,
        replayBuffer: buffer,
      } as const;
      const { replayBuffer, metrics } = await acts.computeRewards(input);
      return { judged: (await get(verdicts))[0]!, replayBuffer, metrics };
    }

    it('adds failed tests to later suites until programs pass them (code-a1)', async () => {
      const input = { ...SMALL_RUN, reward: { scheme: 'code-a1' } };
      const { run, replayBuffer } = await acts.prepareRun({ runId: 'book', input });
      const first = await step(run, [GOOD, SMALL_ONLY], '((7,), 8)\n((2,), 3)', replayBuffer);
      assert.deepEqual((await get(first.replayBuffer)).book, {
        'add-1': [{ test: { args: [7], expected: 8 }, weight: 1 }],
      });
      const second = await step(run, [GOOD, WRONG], undefined, first.replayBuffer);
      assert.deepEqual(second.judged.suite.at(-1), { origin: 'book', test: { args: [7], expected: 8 } });
      // GOOD passes everything; WRONG fails everything
      assert.equal(second.metrics.reward, 0.5);
      const third = await step(run, [GOOD], undefined, first.replayBuffer);
      assert.deepEqual((await get(third.replayBuffer)).book, {});
    });

    it('corrects a wrong expected value without counting the test as valid (code-a1)', async () => {
      const input = { ...SMALL_RUN, reward: { scheme: 'code-a1' } };
      const { run, replayBuffer } = await acts.prepareRun({ runId: 'correct', input });
      const { judged, metrics } = await step(run, [SMALL_ONLY], '((7,), 99)\n((2,), 3)', replayBuffer);
      assert.deepEqual(judged.turns[0]!.tests, [
        { args: [7], expected: 8, corrected: true, suite: 2 },
        { args: [2], expected: 3, suite: 3 },
      ]);
      assert.deepEqual(judged.verdicts, [['pass', 'pass', 'fail', 'pass']]);
      assert.equal(metrics.validity, 0.5);
    });

    it('adds no tests for programs that do not parse (code-a1)', async () => {
      const input = { ...SMALL_RUN, reward: { scheme: 'code-a1' } };
      const { run, replayBuffer } = await acts.prepareRun({ runId: 'unparsed', input });
      const { judged, metrics, ...after } = await step(run, ['def solve(x:', ''], '((7,), 8)', replayBuffer);
      assert.deepEqual(judged.candidates, [
        { sample: 0, empty: false, unparsed: true },
        { sample: 1, empty: true },
      ]);
      assert.equal(metrics.reward, 0);
      assert.deepEqual((await get(after.replayBuffer)).book, {});
    });

    it('does not exist in schemes that do not use it', async () => {
      const { run, replayBuffer } = prepared;
      const after = await step(run, [SMALL_ONLY], '((7,), 8)', replayBuffer);
      assert.equal(after.replayBuffer, replayBuffer);
    });
  });

  it('runs the other programs for a problem on the tests of its target, too (discrimination)', async () => {
    const { run, replayBuffer } = await acts.prepareRun({
      runId: 'group',
      input: { ...SMALL_RUN, reward: { scheme: 'discrimination' } },
    });
    const chains = [chain(0, GOOD), chain(1, SMALL_ONLY), chain(2, WRONG)];
    const written = await tests(chains, [['((7,), 8)', '((2,), 3)']]);
    const suite = { run, per: 'target', suite: 'baseline', tests: written, replayBuffer } as const;
    const { verdicts } = await acts.executeSuite(suite);
    const position: Position = { ...POSITION, role: 'discriminator' };
    const input = { run, role: 'discriminator', position, verdicts, tests: written, replayBuffer } as const;
    // 7 alone fails the second program; both inputs fail the third; one of two tests is missing
    const rewards = [0.05 + (0.9 * (1 + 1 / 2)) / 2, 0.05 + (0.9 * (1 / 2)) / 2];
    const { metrics } = await acts.computeRewards(input);
    assert.equal(metrics.reward.toFixed(9), ((rewards[0]! + rewards[1]!) / 2).toFixed(9));
    assert.equal(metrics.bugCatchRate, 0, 'the target itself is right');
    const hidden = await acts.executeSuite({ ...suite, suite: 'hidden' });
    assert.equal((await get(hidden.verdicts))[0]!.candidates.length, 1, 'measurements judge the target only');
  });

  describe('selectChains', () => {
    const position: Position = { ...POSITION, stage: 3, phase: 'discriminator', role: 'discriminator' };

    it('selects and archives a chain that fails a known test', async () => {
      const chains = await put([chain(0, GOOD), chain(1, WRONG), chain(2, GOOD)]);
      const out = await acts.selectChains({ run: prepared.run, chains, replayBuffer: prepared.replayBuffer, position });
      assert.deepEqual(await get(out.targets), [{ problemId: 'add-1', chain: { chains, index: 1 }, stage: 3 }]);
      assert.deepEqual((await get(out.replayBuffer)).archive.entries, [
        { problemId: 'add-1', chain: { chains, index: 1 } },
      ]);
    });

    it('selects the trained stage or a later one with credit suffix', async () => {
      const chains = await put(Array.from({ length: 12 }, (_, i) => chain(0, WRONG, `add-${i + 1}`)));
      const { run, replayBuffer } = await acts.prepareRun({
        runId: 'suffix',
        input: { ...SMALL_RUN, credit: 'suffix' },
      });
      const out = await acts.selectChains({ run, chains, replayBuffer, position });
      const stages = new Set((await get(out.targets)).map((target) => target.stage));
      assert.deepEqual([...stages].sort(), [3, 4, 5]);
    });

    it('uses the tests in the pool', async () => {
      const replayBuffer = await put({ pool: { 'add-1': [addProblem(1).hiddenTests[2]!] }, archive: { entries: [] } });
      const chains = await put([chain(0, GOOD), chain(1, SMALL_ONLY)]);
      const out = await acts.selectChains({ run: prepared.run, chains, replayBuffer, position });
      assert.equal((await get(out.targets))[0]!.chain.index, 1);
    });

    it('replays archived chains if no chain is faulty, and avoids truncated chains', async () => {
      const old = { problemId: 'add-2', chain: { chains: await put([chain(0, WRONG, 'add-2')]), index: 0 } };
      const replayBuffer = await put({ pool: {}, archive: { entries: [old] } });
      const ids = Array.from({ length: 12 }, (_, i) => `add-${i + 1}`);
      const good = (n: number): string => `def solve(x):\n    return x + ${n}`;
      const chains = await put(ids.flatMap((id, i) => [chain(0, WRONG, id, true), chain(1, good(i + 1), id)]));
      const out = await acts.selectChains({ run: prepared.run, chains, replayBuffer, position });
      const targets = await get(out.targets);
      const replayed = targets.filter((target) => target.chain.chains === old.chain.chains);
      assert.ok(replayed.length > 3 && replayed.length < 12, `${replayed.length} of 12 with probability 0.7`);
      assert.ok(targets.every((target) => target.chain.chains !== chains || target.chain.index % 2 === 1));
    });
  });

  describe('summariseEvaluation', () => {
    it('computes pass rate, test validity and bug-catch rate', async () => {
      const { run } = prepared;
      const chains = [chain(0, SMALL_ONLY), chain(0, 'def solve(x):\n    return x + 2', 'add-2')];
      const sampled = await acts.executeSuite({ run, per: 'problem', suite: 'hidden', chains: await put(chains) });
      const written = await tests(
        [chain(0, SMALL_ONLY), chain(1, WRONG), chain(2, GOOD)],
        [['((7,), 8)\n((1,), 5)'], ['nothing'], ['((2,), 3)']],
      );
      const judged = await acts.executeSuite({ run, per: 'target', suite: 'hidden', tests: written });
      const out = await acts.summariseEvaluation({
        run,
        sampled: sampled.verdicts,
        greedy: sampled.verdicts,
        tests: judged.verdicts,
      });
      assert.equal(out.passRate, 0.5);
      assert.equal(out.greedyPassRate, 0.5);
      assert.ok(Math.abs(out.reward! - ((2 / 3 + 1) / 2 - 0.5)) < 1e-9);
      assert.ok(Math.abs(out.testValidity! - 2 / 6) < 1e-9); // two tests are requested for each of three programs
      assert.equal(out.bugCatchRate, 0.5); // two faulty chains
    });
  });
});
