// Requests take effect between two steps. The pipeline runs in this process; the workflow runs the same code.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { type Request, RequestQueue } from '../../core/run/control.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { Activities } from '../../method/activities.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { readMetrics } from '../../store/runs.js';
import { StepSkipped } from '../../workflows/failures.js';
import type { ProgressUpdate } from '../../workflows/runState.js';
import { type Doubles, memoryDoubles as doubles, SMALL_RUN } from '../support/doubles.js';
import { pluck } from '../support/pluck.js';
import { type RunHooks, runPipeline } from '../support/runs.js';

const LONG = { ...SMALL_RUN, schedule: { stages: [5], discriminatorSteps: 2, generatorSteps: 3, alternatingSteps: 2 } };
const AT = '2026-01-01T00:00:00.000Z';

describe('control requests to a run', () => {
  let world: Doubles;
  let acts: Activities;

  beforeEach(async () => {
    world = await doubles();
    acts = createActivities(world.deps);
  });

  const queueOf = (pending: Request[]): RequestQueue => new RequestQueue({ pending, paused: false });
  /** The hooks of a run that receives `requests[n]` after step n. */
  function hooksWith(requests: Record<number, Request[]>): RunHooks {
    const queue: Request[] = [...(requests[0] ?? [])];
    return {
      now: () => AT,
      requests: queueOf(queue),
      onProgress: ({ step }: ProgressUpdate) => void queue.push(...(requests[step ?? -1] ?? [])),
    };
  }
  const records = () => readMetrics(world.deps.store, 'run');
  const steps = async () => (await records()).filter((record) => record.kind === 'step');
  const controls = async () => (await records()).filter((record) => record.kind === 'control');

  it('apply a change of the learning rate from the next step on, and record its position and time', async () => {
    const fields = { ppo: { learningRate: 0.5 } };
    await runPipeline(acts, 'run', LONG, hooksWith({ 3: [{ kind: 'change', fields, at: AT }] }));
    const rates = (await steps()).map((s) => s.learningRate);
    assert.ok(
      rates.slice(0, 3).every((rate) => rate !== 0.5) && rates.slice(3).every((rate) => rate === 0.5),
      `${rates}`,
    );
    assert.deepEqual(await controls(), [
      { kind: 'control', step: 3, index: 0, stage: 5, next: 3, action: 'change', fields, at: AT },
    ]);
  });

  it('give the same result if the same change is made again, and another result than without it', async () => {
    const change = { 3: [{ kind: 'change', fields: { ppo: { learningRate: 0.5 } }, at: AT }] } as Record<
      number,
      Request[]
    >;
    const plain = await runPipeline(acts, 'plain', LONG);
    const first = await runPipeline(acts, 'run', LONG, hooksWith(change));
    const other = await doubles();
    const second = await runPipeline(createActivities(other.deps), 'run', LONG, hooksWith(change));
    assert.deepEqual(second.digests, first.digests);
    assert.notDeepEqual(first.digests, plain.digests);
  });

  it('are replayed at the same positions when the run starts again, and no request is recorded twice', async () => {
    const fields = { ppo: { learningRate: 0.5 }, schedule: { alternatingSteps: 3 } };
    const requests: Record<number, Request[]> = {
      2: [{ kind: 'change', fields, at: AT }],
      4: [{ kind: 'stop', at: AT }],
    };
    let failing = true;
    const skipping: Activities = {
      ...acts,
      trainPolicy: (input) => {
        if (failing && input.position.step === 4) throw new StepSkipped('trainPolicy: no');
        return acts.trainPolicy(input);
      },
    };
    const first = await runPipeline(skipping, 'run', LONG, hooksWith(requests));
    const before = [await controls(), await listCheckpoints(world.deps.store, 'run')];
    assert.deepEqual(pluck(await controls(), 'action', 'step', 'next'), [
      ['change', 2, 2],
      ['skip', 3, 3],
      ['stop', 4, 5],
    ]);
    failing = false;
    const { calls } = world.engine;
    calls.length = 0;
    const again = await runPipeline(skipping, 'run', LONG, { now: () => AT });
    assert.deepEqual([again.digests, again.stopped], [first.digests, first.stopped]);
    assert.deepEqual([await controls(), await listCheckpoints(world.deps.store, 'run')], before);
    assert.ok(!calls.includes('applyUpdate'), 'completed steps are not repeated');
  });

  it('end the current epoch if the schedule becomes shorter', async () => {
    const shorter = {
      kind: 'change',
      fields: { schedule: { generatorSteps: 1, alternatingSteps: 1 } },
      at: AT,
    } as const;
    await runPipeline(acts, 'run', LONG, hooksWith({ 4: [shorter] }));
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

  it('continue a longer phase in a new epoch if its epoch has ended, and overwrite no checkpoint', async () => {
    const longer = {
      kind: 'change',
      fields: { schedule: { discriminatorSteps: 4, generatorSteps: 4 } },
      at: AT,
    } as const;
    const result = await runPipeline(acts, 'run', LONG, hooksWith({ 2: [longer] }));
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

  describe('requests during the last evaluation', () => {
    /** Adds requests to the queue when the last evaluation completes. */
    function requestsAtEnd(queue: Request[], ...requests: Request[]): Activities {
      return {
        ...acts,
        judgeEvaluation: async (input) => {
          const { target } = input;
          const judged = await acts.judgeEvaluation(input);
          if (target.split === 'validation' && target.checkpoint.step === 7) queue.push(...requests.splice(0));
          return judged;
        },
      };
    }

    it('continue the run if they make the schedule longer, and all of them are recorded', async () => {
      const queue: Request[] = [];
      const change = (alternatingSteps: number): Request => ({
        kind: 'change',
        fields: { schedule: { alternatingSteps } },
        at: AT,
      });
      const last = requestsAtEnd(queue, { kind: 'pause', at: AT }, change(3), { kind: 'resume', at: AT }, change(4));
      const result = await runPipeline(last, 'run', LONG, { now: () => AT, requests: queueOf(queue) });
      assert.equal(result.stopped, undefined);
      assert.equal((await steps()).length, 9);
      assert.deepEqual(
        pluck(await controls(), 'action', 'step', 'next'),
        ['pause', 'change', 'resume', 'change'].map((action) => [action, 7, 7]),
      );
      assert.equal((await listCheckpoints(world.deps.store, 'run')).at(-1)!.step, 9);
    });

    it('are ignored after a recorded stop', async () => {
      const queue: Request[] = [];
      const last = requestsAtEnd(queue, { kind: 'stop', at: AT }, { kind: 'stop', at: AT });
      const result = await runPipeline(last, 'run', LONG, { now: () => AT, requests: queueOf(queue) });
      assert.equal(result.stopped, 'stop requested');
      assert.deepEqual(pluck(await controls(), 'action', 'step'), [['stop', 7]]);
    });
  });

  it('end the run after the current step if they stop it, with a checkpoint and an evaluation', async () => {
    const result = await runPipeline(acts, 'run', LONG, hooksWith({ 4: [{ kind: 'stop', at: AT }] }));
    assert.equal(result.stopped, 'stop requested');
    assert.equal((await steps()).length, 4);
    assert.equal((await listCheckpoints(world.deps.store, 'run')).at(-1)!.step, 4);
    const last = (await records()).filter((r) => r.kind === 'evaluation' && r.split === 'test').at(-1)!;
    assert.equal(last.step, 4);
  });

  it('pause the run until it is resumed, and meanwhile apply other requests', async () => {
    const queue = new RequestQueue();
    queue.accept({ kind: 'pause', at: AT });
    const states: (string | undefined)[] = [];
    let waits = 0;
    const result = await runPipeline(acts, 'run', LONG, {
      now: () => AT,
      onConfig: ({ config }) => queue.configure(config),
      onProgress: ({ state }) => void states.push(state),
      requests: queue,
      waitForRequest: async () => {
        assert.equal((await steps()).length, 0);
        if (++waits === 1) queue.accept({ kind: 'change', fields: { credit: 'suffix' }, at: AT });
        else queue.accept({ kind: 'resume', at: AT });
      },
    });
    assert.equal(waits, 2);
    assert.equal(result.stopped, undefined);
    assert.deepEqual(states.filter((state) => state === 'paused').length, 1);
    assert.equal(states[states.indexOf('paused') + 1], 'training');
    assert.deepEqual(pluck(await controls(), 'index', 'action'), [
      [0, 'pause'],
      [1, 'change'],
      [2, 'resume'],
    ]);
  });

  it('end the run before the step that would exceed a budget, also if the run starts again', async () => {
    const first = await runPipeline(acts, 'free', LONG);
    const cost = (await readMetrics(world.deps.store, 'free')).filter((r): r is StepMetrics => r.kind === 'step');
    const spent = (steps: number) => cost.slice(0, steps).reduce((sum, s) => sum + s.sampledTokens, 0);
    const tokens = Math.max(spent(4), spent(3) + cost[2]!.sampledTokens); // the usage of the third step predicts the usage of the fourth
    assert.equal(first.stopped, undefined);
    const limited = { ...LONG, budget: { tokens } };
    const result = await runPipeline(acts, 'run', limited);
    assert.match(result.stopped ?? '', new RegExp(`budget of ${tokens} tokens`));
    assert.equal((await steps()).length, 4);
    assert.deepEqual(pluck(await controls(), 'action', 'step'), [['budget', 4]]);
    assert.deepEqual((await runPipeline(acts, 'run', limited)).stopped, result.stopped);
  });

  it('are refused while a run that has used up its budget writes its last checkpoint', async () => {
    const queue = new RequestQueue();
    let isOver = false;
    let refused = 0;
    const refuses = (): void => {
      assert.throws(() => queue.validate('change', {}), /nothing is left to control/);
      refused++;
    };
    const asking: Activities = {
      ...acts,
      generateEvaluation: async (input) => {
        if (isOver) refuses();
        return acts.generateEvaluation(input);
      },
      recordMetrics: async (input) => {
        isOver ||= input.metrics.kind === 'control';
        if (isOver) refuses();
        return acts.recordMetrics(input);
      },
    };
    const onConfig: RunHooks['onConfig'] = ({ config }) => queue.configure(config);
    const result = await runPipeline(asking, 'run', { ...LONG, budget: { tokens: 1 } }, { requests: queue, onConfig });
    assert.match(result.stopped ?? '', /budget/);
    assert.ok(refused > 1);
  });

  it('skip a step, which leaves only its record', async () => {
    const skipping: Activities = {
      ...acts,
      trainPolicy: async (input) => {
        if (input.position.step === 4) throw new StepSkipped('trainPolicy: no');
        return acts.trainPolicy(input);
      },
    };
    const result = await runPipeline(skipping, 'run', LONG, { now: () => AT });
    assert.equal(result.stopped, undefined);
    assert.deepEqual(pluck(await steps(), 'step'), [1, 2, 3, 4, 5, 6]);
    const left = await controls();
    const { spent } = left[0]!;
    assert.deepEqual(left, [
      {
        kind: 'control',
        step: 3,
        index: 0,
        stage: 5,
        next: 3,
        action: 'skip',
        reason: 'trainPolicy: no',
        at: AT,
        spent,
      },
    ]);
  });

  it('count the usage of a skipped step, also if the run starts again', async () => {
    await runPipeline(acts, 'free', LONG);
    const free = await readMetrics(world.deps.store, 'free');
    const costs = free.flatMap((record) => (record.kind === 'step' ? [record.sampledTokens] : []));
    const spent = (count: number) => costs.slice(0, count).reduce((sum, cost) => sum + cost, 0);
    const tokens = Math.max(spent(4), spent(3) + costs[2]!); // four steps, one of which was skipped
    const skipping: Activities = {
      ...acts,
      trainPolicy: async (input) => {
        if (input.position.step === 4) throw new StepSkipped('trainPolicy: no');
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

  it('prevent the checkpoint of an epoch if they skip all its steps', async () => {
    const skipping: Activities = {
      ...acts,
      trainPolicy: async (input) => {
        if (input.position.phase === 'alternating') throw new StepSkipped('no');
        return acts.trainPolicy(input);
      },
    };
    await runPipeline(skipping, 'run', LONG);
    assert.equal((await listCheckpoints(world.deps.store, 'run')).length, 3);
  });
});
