// The type check of a run: what it adds where it is on, and that nothing knows of it where it is off.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import type { SuiteVerdicts, TestBatch } from '../../activities/artifacts.js';
import { createActivities } from '../../activities/index.js';
import { GauntletError } from '../../core/errors.js';
import type { Chain } from '../../core/schema/chain.js';
import type { Activities } from '../../method/activities.js';
import type { Position, RunRef } from '../../method/types.js';
import { readRun } from '../../store/runs.js';
import { type Doubles, memoryDoubles as doubles, FakeSandbox, SMALL_RUN } from '../support/doubles.js';

const POSITION: Position = { stage: 5, phase: 'generator', epoch: 1, step: 1, role: 'generator' };
const GOOD = 'def solve(x):\n    return x + 1';
const OTHER = 'def solve(x):\n    return x + 9';
const ENDLESS = 'def solve(x):\n    while True: pass'; // of the double: an error of types
const BROKEN = 'def solve(x)';
const PROGRAMS = [GOOD, GOOD, OTHER, ENDLESS, BROKEN, ''];
const TYPES = ['ok', 'ok', 'ok', 'errors', 'unparsed', 'unparsed'];

const chain = (sample: number, code: string): Chain => ({
  problemId: 'add-1',
  sample,
  turns: [{ stage: 5, promptTokens: [1], answerTokens: [2, 0], text: code, truncated: false }],
});

describe('type checking', () => {
  let world: Doubles;
  let acts: Activities;
  beforeEach(async () => {
    world = await doubles();
    acts = createActivities(world.deps);
  });
  afterEach(() => rm(world.folder, { recursive: true, force: true }));

  const prepared = (typeCheck?: object) =>
    acts.prepareRun({ runId: 'run', input: typeCheck ? { ...SMALL_RUN, typeCheck } : SMALL_RUN });
  const put = (value: unknown) => world.deps.store.putJson(value);
  const chains = () => put(PROGRAMS.map((code, sample) => chain(sample, code)));
  const judge = async (run: RunRef): Promise<{ verdicts: string; cells: SuiteVerdicts[]; chains: string }> => {
    const list = await chains();
    const { verdicts } = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains: list });
    return { verdicts, cells: await world.deps.store.getJson<SuiteVerdicts[]>(verdicts), chains: list };
  };

  it('checks no program and adds nothing to verdicts and metrics when it is disabled', async () => {
    const { run, replayBuffer } = await prepared();
    const { verdicts, cells, chains } = await judge(run);
    const rewarded = await acts.computeRewards({
      run,
      role: 'generator',
      position: POSITION,
      verdicts,
      chains,
      replayBuffer,
    });
    const summary = await acts.summariseEvaluation({ run, sampled: verdicts });
    assert.deepEqual(world.sandbox.typeJobs, []);
    assert.ok(!('types' in cells[0]!) && !('typeCheckRate' in rewarded.metrics) && !('typeCheckRate' in summary));
    assert.equal((await readRun(world.deps.store, 'run')).config.typeCheck.enabled, false);
  });

  it('checks every distinct program once, and reports a missing one as unparsed', async () => {
    const { run } = await prepared({ enabled: true });
    const { cells } = await judge(run);
    assert.deepEqual(cells[0]!.types, TYPES);
    assert.deepEqual(
      world.sandbox.typeJobs.map(({ code }) => code),
      [GOOD, OTHER, ENDLESS, BROKEN],
    );
    await judge(run);
    assert.equal(world.sandbox.typeJobs.length, 4, 'the result is kept with the activity');
  });

  it('does not check the chains of targets again', async () => {
    const { run } = await prepared({ enabled: true });
    const target = { problemId: 'add-1', chain: { chains: await chains(), index: 0 }, stage: 5 } as const;
    const turn = { problemId: 'add-1', chainSample: 0, stage: 5, sample: 0, promptTokens: [7], answerTokens: [8, 0] };
    const batch = { targets: [target], samples: 1, turns: [{ ...turn, text: '((1,), 2)', truncated: false }] };
    const tests = await put(batch as TestBatch);
    const { verdicts } = await acts.executeSuite({ run, per: 'target', suite: 'baseline', tests });
    assert.ok(!('types' in (await world.deps.store.getJson<SuiteVerdicts[]>(verdicts))[0]!));
    assert.deepEqual(world.sandbox.typeJobs, []);
  });

  it('is only a metric with weight 0', async () => {
    const off = await prepared();
    const before = await judge(off.run);
    const { replayBuffer } = off;
    const plain = await acts.computeRewards({
      run: off.run,
      role: 'generator',
      position: POSITION,
      ...before,
      replayBuffer,
    });
    await rm(world.folder, { recursive: true, force: true });
    world = await doubles();
    acts = createActivities(world.deps);
    const on = await prepared({ enabled: true });
    const after = await judge(on.run);
    const input = {
      run: on.run,
      role: 'generator',
      position: POSITION,
      ...after,
      replayBuffer: on.replayBuffer,
    } as const;
    const { metrics, trajectories } = await acts.computeRewards(input);
    assert.equal(trajectories, plain.trajectories);
    assert.deepEqual({ ...metrics, typeCheckRate: undefined }, { ...plain.metrics, typeCheckRate: undefined });
    assert.equal(metrics.typeCheckRate, 0.5);
    assert.equal((await acts.summariseEvaluation({ run: on.run, sampled: after.verdicts })).typeCheckRate, 0.5);
  });

  it('subtracts its weight from the reward of a program with type errors', async () => {
    const { run, replayBuffer } = await prepared({ enabled: true, weight: 0.2 });
    const { verdicts, chains } = await judge(run);
    const { metrics } = await acts.computeRewards({
      run,
      role: 'generator',
      position: POSITION,
      verdicts,
      chains,
      replayBuffer,
    });
    const rewards = [0.5, 0.5, -0.5, -0.5 - 0.2, -0.5 - 0.2, -0.5 - 0.2]; // pass share − 0.5 − weight
    assert.ok(Math.abs(metrics.reward - rewards.reduce((a, b) => a + b) / 6) < 1e-12, String(metrics.reward));
  });

  it('fails before any execution if there is no type checker', async () => {
    const refusal = new GauntletError('SANDBOX_UNAVAILABLE', 'a type check needs --sandbox docker');
    const sandbox = Object.assign(new FakeSandbox(), { checkTypes: () => Promise.reject(refusal) });
    acts = createActivities({ ...world.deps, sandbox: async () => sandbox });
    const { run } = await prepared({ enabled: true });
    await assert.rejects(judge(run), /a type check needs --sandbox docker/);
    await assert.rejects(acts.quarantineProblems({ run }), /a type check needs --sandbox docker/);
    assert.deepEqual(sandbox.jobs, []);
  });

  it('rejects a weight if it is disabled', async () => {
    await assert.rejects(prepared({ weight: 0.2 }), /typeCheck\.weight/);
  });
});
