// What people ask of a run takes effect between steps, in the driver in process: the workflow runs the same code.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { type Activities, createActivities } from '../../activities/index.js';
import type { Request } from '../../core/control.js';
import type { ControlMetrics, RunMetrics, StepMetrics } from '../../core/schema/metrics.js';
import { runMetricsSchema } from '../../core/schema/metrics.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { readMetrics } from '../../store/runs.js';
import { type PipelineHooks, runPipeline } from '../../workflows/pipeline.js';
import { StepLeftOut } from '../../workflows/stageInput.js';
import type { ProgressUpdate } from '../../workflows/state.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';

const LONG = { ...SMALL_RUN, schedule: { stages: [5], discriminatorSteps: 2, generatorSteps: 3, alternatingSteps: 2 } };
const AT = '2026-01-01T00:00:00.000Z';

describe('live control of a run', () => {
  let world: Doubles;
  let acts: Activities;

  beforeEach(async () => {
    world = await doubles();
    acts = createActivities(world.deps);
  });
  afterEach(() => rm(world.folder, { recursive: true, force: true }));

  /** Hooks that let `asked[n]` be asked while step n + 1 is being done. */
  function asking(asked: Record<number, Request[]>, hooks: PipelineHooks = {}): PipelineHooks {
    const requests: Request[] = [...(asked[0] ?? [])];
    return {
      now: () => AT,
      requests: () => requests,
      ...hooks,
      onProgress: (update: ProgressUpdate) => {
        if (update.step !== undefined) requests.push(...(asked[update.step] ?? []));
        return hooks.onProgress?.(update);
      },
    };
  }
  const records = async () =>
    (await readMetrics<RunMetrics>(world.deps.store, 'run')).map((record) => runMetricsSchema.parse(record));
  const steps = async () => (await records()).filter((r): r is StepMetrics => r.kind === 'step');
  const controls = async () => (await records()).filter((r): r is ControlMetrics => r.kind === 'control');

  it('applies and records a changed learning rate from the next step on', async () => {
    const fields = { ppo: { learningRate: 0.5 } };
    await runPipeline(acts, 'run', LONG, asking({ 3: [{ kind: 'change', fields, at: AT }] }));
    const rates = (await steps()).map((s) => s.learningRate);
    assert.ok(
      rates.slice(0, 3).every((rate) => rate !== 0.5) && rates.slice(3).every((rate) => rate === 0.5),
      `${rates}`,
    );
    assert.deepEqual(await controls(), [
      { kind: 'control', step: 3, index: 0, stage: 5, next: 3, action: 'change', fields, at: AT },
    ]);
  });

  it('produces different bytes after a change, and the same bytes after the same change', async () => {
    const change = { 3: [{ kind: 'change', fields: { ppo: { learningRate: 0.5 } }, at: AT }] } as Record<
      number,
      Request[]
    >;
    const plain = await runPipeline(acts, 'plain', LONG);
    const first = await runPipeline(acts, 'run', LONG, asking(change));
    const other = await doubles();
    const second = await runPipeline(createActivities(other.deps), 'run', LONG, asking(change));
    assert.deepEqual(second.digests, first.digests);
    assert.notDeepEqual(first.digests, plain.digests);
    await rm(other.folder, { recursive: true, force: true });
  });

  it('repeats recorded requests at the same steps after a restart, and records them once', async () => {
    const fields = { ppo: { learningRate: 0.5 }, schedule: { alternatingSteps: 3 } };
    const asked: Record<number, Request[]> = {
      2: [{ kind: 'change', fields, at: AT }],
      4: [{ kind: 'stop', at: AT }],
    };
    let failing = true;
    const skipping: Activities = {
      ...acts,
      trainPolicy: (input) => {
        if (failing && input.position.step === 4) throw new StepLeftOut('trainPolicy: no');
        return acts.trainPolicy(input);
      },
    };
    const first = await runPipeline(skipping, 'run', LONG, asking(asked));
    const before = [await controls(), await listCheckpoints(world.deps.store, 'run')];
    assert.deepEqual(
      (await controls()).map(({ action, step, next }) => [action, step, next]),
      [
        ['change', 2, 2],
        ['skip', 3, 3],
        ['stop', 4, 5],
      ],
    );
    failing = false;
    const { calls } = world.engine;
    calls.length = 0;
    const again = await runPipeline(skipping, 'run', LONG, { now: () => AT });
    assert.deepEqual([again.digests, again.stopped], [first.digests, first.stopped]);
    assert.deepEqual([await controls(), await listCheckpoints(world.deps.store, 'run')], before);
    assert.ok(!calls.includes('applyUpdate'), 'nothing finished is done again');
  });

  it('closes the current epoch if a shorter schedule ends it', async () => {
    const shorter = {
      kind: 'change',
      fields: { schedule: { generatorSteps: 1, alternatingSteps: 1 } },
      at: AT,
    } as const;
    await runPipeline(acts, 'run', LONG, asking({ 4: [shorter] }));
    assert.deepEqual(
      (await steps()).map((s) => `${s.epoch} ${s.phase}`),
      ['1 discriminator', '1 discriminator', '2 generator', '2 generator', '3 alternating'],
    );
    const names = (await listCheckpoints(world.deps.store, 'run')).map(({ name, step }) => [name, step]);
    assert.deepEqual(names, [
      ['checkpoint_stage_0_epoch_0', 0],
      ['checkpoint_stage_5_epoch_1', 2],
      ['checkpoint_stage_5_epoch_2', 4],
      ['checkpoint_stage_5_epoch_3', 5],
    ]);
  });

  it('continues an extended phase in a new epoch and does not overwrite checkpoints', async () => {
    const longer = {
      kind: 'change',
      fields: { schedule: { discriminatorSteps: 4, generatorSteps: 4 } },
      at: AT,
    } as const;
    const result = await runPipeline(acts, 'run', LONG, asking({ 2: [longer] }));
    assert.deepEqual(
      (await steps()).map((s) => `${s.epoch} ${s.phase}`),
      [
        ...['1 discriminator', '1 discriminator', '2 discriminator', '2 discriminator'],
        ...['3 generator', '3 generator', '3 generator', '3 generator', '4 alternating', '5 alternating'],
      ],
    );
    const checkpoints = await listCheckpoints(world.deps.store, 'run');
    assert.deepEqual(
      checkpoints.map(({ name, step }) => [name.slice(-7), step]),
      [
        ...[
          ['epoch_0', 0],
          ['epoch_1', 2],
          ['epoch_2', 4],
          ['epoch_3', 8],
          ['epoch_4', 9],
          ['epoch_5', 10],
        ],
      ],
    );
    const best = checkpoints.find(({ name }) => name === result.best)!;
    assert.equal(best.files['generator/adapter_model.safetensors'], result.digests.generator);
  });

  describe('during the evaluation of the last epoch', () => {
    /** What is asked when nothing but its verdict is waited for. */
    function atTheEnd(requests: Request[], ...asked: Request[]): Activities {
      return {
        ...acts,
        judgeEvaluation: async (input) => {
          const { target } = input;
          const judged = await acts.judgeEvaluation(input);
          if (target.split === 'validation' && target.checkpoint.step === 7) requests.push(...asked.splice(0));
          return judged;
        },
      };
    }

    it('applies and records requests, and continues with a longer schedule', async () => {
      const requests: Request[] = [];
      const change = (alternatingSteps: number): Request => ({
        ...{ kind: 'change', fields: { schedule: { alternatingSteps } }, at: AT },
      });
      const last = atTheEnd(requests, { kind: 'pause', at: AT }, change(3), { kind: 'resume', at: AT }, change(4));
      const result = await runPipeline(last, 'run', LONG, { now: () => AT, requests: () => requests });
      assert.equal(result.stopped, undefined);
      assert.equal((await steps()).length, 9);
      assert.deepEqual(
        (await controls()).map(({ action, step, next }) => [action, step, next]),
        ['pause', 'change', 'resume', 'change'].map((action) => [action, 7, 7]),
      );
      assert.equal((await listCheckpoints(world.deps.store, 'run')).at(-1)!.step, 9);
    });

    it('records a stop and ignores requests for later steps', async () => {
      const requests: Request[] = [];
      const last = atTheEnd(requests, { kind: 'stop', at: AT }, { kind: 'stop', at: AT, after: 99 });
      const result = await runPipeline(last, 'run', LONG, { now: () => AT, requests: () => requests });
      assert.equal(result.stopped, 'asked to stop');
      assert.deepEqual(
        (await controls()).map(({ action, step }) => [action, step]),
        [['stop', 7]],
      );
    });
  });

  it('stops after the current step with a checkpoint, an evaluation and a report', async () => {
    const result = await runPipeline(acts, 'run', LONG, asking({ 4: [{ kind: 'stop', at: AT }] }));
    assert.equal(result.stopped, 'asked to stop');
    assert.equal((await steps()).length, 4);
    assert.equal((await listCheckpoints(world.deps.store, 'run')).at(-1)!.step, 4);
    const last = (await records()).filter((r) => r.kind === 'evaluation' && r.split === 'test').at(-1)!;
    assert.equal(last.step, 4);
  });

  it('starts no step while paused', async () => {
    const requests: Request[] = [{ kind: 'pause', at: AT }];
    const states: (string | undefined)[] = [];
    let waits = 0;
    const result = await runPipeline(acts, 'run', LONG, {
      now: () => AT,
      requests: () => requests,
      onProgress: ({ state }) => void states.push(state),
      moreRequests: async (count) => {
        assert.equal((await steps()).length, 0);
        assert.equal(count, requests.length);
        // something else that is asked meanwhile does not end the pause
        requests.push(
          ++waits === 1 ? { kind: 'change', fields: { credit: 'suffix' }, at: AT } : { kind: 'resume', at: AT },
        );
      },
    });
    assert.equal(waits, 2);
    assert.equal(result.stopped, undefined);
    assert.deepEqual(states.filter((state) => state === 'paused').length, 1);
    assert.deepEqual(
      (await controls()).map(({ action, index }) => [index, action]),
      [
        [0, 'pause'],
        [1, 'change'],
        [2, 'resume'],
      ],
    );
  });

  it('stops before a step that would exceed the budget, also after a restart', async () => {
    const first = await runPipeline(acts, 'free', LONG);
    const cost = (await readMetrics<RunMetrics>(world.deps.store, 'free')).filter(
      (r): r is StepMetrics => r.kind === 'step',
    );
    const spent = (steps: number) => cost.slice(0, steps).reduce((sum, s) => sum + s.sampledTokens, 0);
    const tokens = Math.max(spent(4), spent(3) + cost[2]!.sampledTokens); // the fourth is judged by the third
    assert.equal(first.stopped, undefined);
    const limited = { ...LONG, budget: { tokens } };
    const result = await runPipeline(acts, 'run', limited);
    assert.match(result.stopped ?? '', new RegExp(`budget of ${tokens} tokens`));
    assert.equal((await steps()).length, 4);
    assert.deepEqual(
      (await controls()).map(({ action, step }) => [action, step]),
      [['budget', 4]],
    );
    assert.deepEqual((await runPipeline(acts, 'run', limited)).stopped, result.stopped);
  });

  it('counts every executed program of training steps', async () => {
    const result = await runPipeline(acts, 'run', { ...LONG, budget: { executions: 1 } });
    assert.match(result.stopped ?? '', /budget of 1 executions/);
    assert.equal((await steps()).length, 1); // nothing is known of the first
  });

  it('keeps only the record of a skipped step', async () => {
    const skipping: Activities = {
      ...acts,
      trainPolicy: async (input) => {
        if (input.position.step === 4) throw new StepLeftOut('trainPolicy: no');
        return acts.trainPolicy(input);
      },
    };
    const result = await runPipeline(skipping, 'run', LONG, { now: () => AT });
    assert.equal(result.stopped, undefined);
    assert.deepEqual(
      (await steps()).map((s) => s.step),
      [1, 2, 3, 4, 5, 6],
    );
    const left = await controls();
    const { spent } = left[0]!;
    assert.deepEqual(left, [
      {
        ...{ kind: 'control', step: 3, index: 0, stage: 5, next: 3, action: 'skip', reason: 'trainPolicy: no', at: AT },
        spent,
      },
    ]);
  });

  it('charges skipped steps to the budget, also after a restart', async () => {
    await runPipeline(acts, 'free', LONG);
    const free = await readMetrics<RunMetrics>(world.deps.store, 'free');
    const costs = free.flatMap((record) => (record.kind === 'step' ? [record.sampledTokens] : []));
    const spent = (count: number) => costs.slice(0, count).reduce((sum, cost) => sum + cost, 0);
    const tokens = Math.max(spent(4), spent(3) + costs[2]!); // of four steps, one of them left out
    const skipping: Activities = {
      ...acts,
      trainPolicy: async (input) => {
        if (input.position.step === 4) throw new StepLeftOut('trainPolicy: no');
        return acts.trainPolicy(input);
      },
    };
    const limited = { ...LONG, budget: { tokens } };
    const result = await runPipeline(skipping, 'run', limited, { now: () => AT });
    assert.match(result.stopped ?? '', new RegExp(`budget of ${tokens} tokens`));
    assert.equal((await steps()).length, 3);
    const [left] = await controls();
    assert.ok(left!.spent!.tokens > 0 && left!.spent!.executions > 0 && left!.spent!.seconds > 0, `${left!.spent}`);
    assert.deepEqual((await runPipeline(acts, 'run', limited, { now: () => AT })).stopped, result.stopped);
    assert.equal((await steps()).length, 3);
  });

  it('writes no checkpoint for an epoch of skipped steps', async () => {
    const skipping: Activities = {
      ...acts,
      trainPolicy: async (input) => {
        if (input.position.phase === 'alternating') throw new StepLeftOut('no');
        return acts.trainPolicy(input);
      },
    };
    await runPipeline(skipping, 'run', LONG);
    assert.equal((await listCheckpoints(world.deps.store, 'run')).length, 3);
  });
});
