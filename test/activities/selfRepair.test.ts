import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { createActivities } from '../../activities/index.js';
import { codeOf } from '../../chains/chainLists.js';
import type { Ref } from '../../core/ref.js';
import { creditMask } from '../../core/rl/trajectories.js';
import { type Chain, type FailedTest, STAGES } from '../../core/schema/chain.js';
import type { Activities } from '../../method/activities.js';
import type { PrepareRunOutput } from '../../method/prepare.js';
import { readMetrics } from '../../store/runs.js';
import { addProblem, type Doubles, memoryDoubles as doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline, solve } from '../support/runs.js';

const position = { stage: 5, phase: 'generator', epoch: 1, step: 1, role: 'generator' } as const;
const batch = { kind: 'train', role: 'generator', position } as const;
const returns = (body: string) => `def solve(x):\n    return ${body}`;
const WRONG: FailedTest = { call: 'solve(0)', expected: '1', got: '9' };

const chainOf = (code: string, sample: number): Chain => ({
  problemId: 'add-1',
  sample,
  turns: STAGES.map((stage) => ({
    stage,
    promptTokens: [...`<gen>add 1<s${stage}>`].map((char) => char.charCodeAt(0)),
    answerTokens: [20 + stage, 0],
    text: stage === 5 ? code : `stage ${stage}`,
    truncated: false,
  })),
});

describe('self-repair', () => {
  let world: Doubles;
  let acts: Activities;
  let prepared: PrepareRunOutput;

  beforeEach(async () => {
    world = await doubles();
    acts = createActivities(world.deps);
    prepared = await acts.prepareRun({ runId: 'run', input: SMALL_RUN });
  });
  afterEach(() => rm(world.folder, { recursive: true, force: true }));

  const put = <T>(value: T) => world.deps.store.putJson(value);
  const get = <T>(ref: Ref<T>) => world.deps.store.getJson(ref);

  it('describes the first baseline test that a program fails, and no hidden test', async () => {
    const cases: [code: string, got: string | null][] = [
      [returns('x + 1'), null],
      [returns('x + 1 if x < 3 else 0'), null], // a hidden test fails
      [returns('x + 9'), '9'],
      ['def solve(x):\n    while True: pass', 'it exceeds the time limit'],
      ['def solve(', 'SyntaxError'],
      ['', 'there is no program'],
    ];
    const chains = await put(cases.map(([code], i) => chainOf(code, i)));
    const found = await acts.findFailures({ run: prepared.run, chains });
    assert.deepEqual(
      await get(found.failures),
      cases.map(([, got]) => got && { call: 'solve(0)', expected: '1', got }),
    );
    assert.equal(found.executions, 5);
    const { baselineTests } = addProblem(1);
    const inputs = baselineTests.map(({ args }) => args);
    for (const job of world.sandbox.jobs) assert.deepEqual(job.inputs, inputs);
  });

  it('appends a program after a failure only, which replaces the first, and trains both', async () => {
    const given = [chainOf(returns('x + 1'), 0), chainOf(returns('x + 9'), 1)];
    const [chains, failures] = [await put(given), await put([null, WRONG])];
    const repaired = await acts.repairPrograms({ run: prepared.run, batch, chains, failures });
    const [same, other] = await get(repaired.chains);
    assert.deepEqual(same, given[0]);
    const last = other!.turns[5]!;
    assert.deepEqual([other!.turns.slice(0, 5), last.stage, last.repairs], [given[1]!.turns, 5, WRONG]);
    assert.equal(world.engine.decode(last.promptTokens), 'solve(0) == 1, not 9<s5>');
    assert.equal(codeOf(other!, addProblem(1), prepared.config), last.text);
    assert.equal(repaired.tokens, last.answerTokens.length);
    const sum = (mask: number[]) => mask.reduce((a, b) => a + b, 0);
    for (const credit of ['stage', 'suffix'] as const)
      assert.equal(sum(creditMask(other!.turns, 5, credit)), 2 + last.answerTokens.length, credit);
    assert.equal(sum(creditMask(other!.turns, 4, 'stage')), 2);
  });

  it('keeps the first program if there is no room for a second', async () => {
    const [chains, failures] = [await put([chainOf(returns('x + 9'), 0)]), await put([WRONG])];
    world.engine.info.contextLength = 50;
    const repaired = await acts.repairPrograms({ run: prepared.run, batch, chains, failures });
    assert.deepEqual([repaired.chains, repaired.tokens], [chains, 0]);
  });

  describe('in a run', () => {
    const REPAIRING = { ...SMALL_RUN, selfRepair: true };
    let whole: Activities;
    let searches: number;

    beforeEach(() => {
      searches = 0;
      whole = createActivities(world.deps);
      const { findFailures } = whole;
      whole.findFailures = (input) => {
        searches++;
        return findFailures(input);
      };
    });

    const stepsOf = async (run: string) =>
      (await readMetrics(world.deps.store, run)).filter((record) => record.kind === 'step');

    it('is off by default', async () => {
      await runPipeline(whole, 'off', SMALL_RUN);
      assert.equal(searches, 0);
    });

    it('judges repaired programs in every step, and repeats the same bytes', async () => {
      const first = await runPipeline(whole, 'on', REPAIRING);
      const repairs: FailedTest[] = [];
      for (const { artifacts, role } of await stepsOf('on')) {
        if (role !== 'generator') continue;
        for (const { turns } of await get(artifacts.chains!)) {
          if (turns.length > STAGES.length) repairs.push(turns[STAGES.length]!.repairs!);
        }
      }
      assert.ok(repairs.length > 0 && repairs.every(({ call }) => /^solve\([01]\)$/.test(call)));
      const again = await doubles();
      const second = await runPipeline(createActivities(again.deps), 'on', REPAIRING);
      assert.deepEqual(second.digests, first.digests);
      await rm(again.folder, { recursive: true, force: true });
    });

    it('is used for solving with a checkpoint of the run', async () => {
      await runPipeline(whole, 'on', REPAIRING);
      const before = searches;
      const solved = await solve(whole, {
        checkpoint: { runId: 'on', name: 'best' },
        samples: 3,
        temperature: 1,
        tests: true,
      });
      assert.equal(searches, before + 1);
      const views = await get<{ stages: { repairs?: FailedTest; tests: unknown[]; lost: number }[] }[]>(solved.views);
      assert.ok(views.some(({ stages }) => stages.some(({ repairs }) => repairs)));
      for (const { stages } of views)
        stages.forEach((stage, i) => {
          if (stage.repairs) assert.equal(stages[i - 1]!.tests.length, 0); // tests are shown with the last program
        });
    });
  });
});
