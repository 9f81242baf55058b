// A run whose history grows long goes on in a new one, wherever it stands: a server that suggests it early shows it.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { ScheduleOverlapPolicy, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { createActivities } from '../../activities/index.js';
import { historiesOf } from '../../bench/orchestration/histories.js';
import { createSchedule, scheduledInput } from '../../cli/commands/schedule.js';
import { resumeRun } from '../../cli/resuming.js';
import { inputOf } from '../../cli/training.js';
import { GauntletError } from '../../core/errors.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import type { ControlMetrics, RunMetrics } from '../../core/schema/metrics.js';
import { type RunProgress, type RunResult, runProgressSchema } from '../../core/schema/run.js';
import { listCheckpoints, loadCheckpoint } from '../../store/checkpoints.js';
import { readControls, readMetrics, readRun } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import type { RunningWorkers } from '../../workers/start.js';
import { type PipelineHooks, runPipeline } from '../../workflows/pipeline.js';
import { inProcess } from '../cli/support.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { payloadSizes, record } from './golden.js';
import { findable, needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

/** Suggested after so many events: the preparation alone has more, and a step of the run six. */
const EVENTS = 50;

/** One engine update a step, and little work in each: what is looked at lies between them. */
const STAGES = [1, 5];
const TEMPLATE = {
  ...SMALL_RUN,
  stages: [1, 5],
  batch: { generator: { problems: 2, samples: 2 }, discriminator: { problems: 2, samples: 2 } },
  evaluation: { problems: 2, testProblems: 2 },
  advantage: { dropZeroVariance: false },
  ppo: { ...SMALL_RUN.ppo, epochs: 1, minibatch: 1000, warmupSteps: 0 },
  schedule: { stages: [...STAGES], discriminatorSteps: 0, generatorSteps: 4, alternatingSteps: 1 },
};

describe('a run whose history is long', function () {
  this.timeout(120_000);
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers;
  let id = '';
  let count = 0;
  let run: Omit<typeof TEMPLATE, 'seed'> & { seed: number };

  before(async function () {
    needTemporal(this);
    host = findable(await startServer({ dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': EVENTS } }));
    world = await doubles();
    workers = await workersOver(host.server, world);
  });
  after(async () => {
    await workers?.shutdown();
    await host?.close();
    if (world) await rm(world.folder, { recursive: true, force: true });
  });
  let free = (): void => undefined; // whatever is held when a test ends
  afterEach(() => free());
  beforeEach(() => {
    id = `long-${++count}`;
    run = { ...TEMPLATE, seed: 100 + count }; // on one store: nothing is to be there beforehand
  });

  type Bytes = Record<string, Record<string, string>>;
  const bytesOf = async (store: Store, runId: string): Promise<Bytes> =>
    Object.fromEntries((await listCheckpoints(store, runId)).map(({ name, files }) => [name, files]));
  async function undisturbed(config: object = run, hooks: PipelineHooks = {}) {
    const other = await doubles();
    const result = await runPipeline(createActivities(other.deps), 'other', config, hooks);
    const bytes = await bytesOf(other.deps.store, 'other');
    await rm(other.folder, { recursive: true, force: true });
    return { result: { ...result, trainingSeconds: 0 }, bytes };
  }
  /** Runs and stages, those that went on in another included. */
  async function executions(): Promise<{ run: number; stages: number }> {
    const all = await historiesOf(host.client, id, STAGES);
    const own = all.filter(({ workflowId }) => workflowId === id).length;
    return { run: own, stages: all.length - own };
  }
  const progressOf = async (handle: WorkflowHandle) =>
    runProgressSchema.parse(await handle.query<RunProgress>('progress'));
  async function until(handle: WorkflowHandle, condition: (progress: RunProgress) => boolean): Promise<void> {
    for (;;) {
      const progress = await progressOf(handle).catch(() => undefined);
      if (progress && condition(progress)) return;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  /** The `n`th update waits until it is released; what is given then comes in its place. */
  function held(n: number, instead?: () => never): { reached: Promise<void>; release(): void } {
    const { applyUpdate } = world.engine;
    let calls = 0;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    free = release;
    const reached = new Promise<void>((resolve) => {
      world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
        if (++calls === n) {
          world.engine.applyUpdate = applyUpdate;
          resolve();
          await gate;
          instead?.();
        }
        return applyUpdate.apply(world.engine, given);
      };
    });
    return { reached, release };
  }

  it('continues as new within a stage and between stages, and ends with the bytes of one that did not', async () => {
    const handle = await startRun(host.client, id, run);
    const result = (await handle.result()) as RunResult;
    const expected = await undisturbed();
    assert.deepEqual({ ...result, trainingSeconds: 0 }, { ...expected.result, runId: id });
    assert.deepEqual(await bytesOf(world.deps.store, id), expected.bytes);
    const found = await executions();
    assert.ok(found.run > STAGES.length, `${found.run} executions of the run`);
    assert.ok(found.stages > found.run, `${found.stages} executions of stages`);
    const progress = await progressOf(handle);
    assert.deepEqual([progress.state, progress.step, progress.totalSteps, progress.stage], ['completed', 10, 10, 5]);
    const { searchAttributes } = await handle.describe();
    assert.deepEqual([searchAttributes.GauntletState, searchAttributes.GauntletModel], [['completed'], ['tiny']]);
    assert.deepEqual(await inputOf(host.client, id), run, 'the input is that of the first');
    for (const { events } of await historiesOf(host.client, id, STAGES)) {
      const sizes = payloadSizes(JSON.parse(historyToJSON({ events })) as unknown);
      assert.ok(Math.max(...sizes) < 8 * 1024, `a payload of ${Math.max(...sizes)} bytes`);
      assert.ok(events.length < 3 * EVENTS, `${events.length} events in one history`);
    }
    await record('continued-run', handle);
    await record('continued-stage', host.client.workflow.getHandle(`${id}/stage-5`));
  });

  it('takes along what was asked of it: a change, a pause and its end, and a budget', async () => {
    const hold = held(2);
    const handle = await startRun(host.client, id, run);
    await hold.reached;
    const change = { ppo: { learningRate: 0.25 }, budget: { tokens: 1e9 } };
    await handle.executeUpdate<string, [object]>('change', { args: [change] });
    await handle.executeUpdate<string, []>('pause');
    hold.release();
    await until(handle, ({ state }) => state === 'paused');
    // requests in a pause make its history long; what goes on in a new one is still paused
    const before = (await handle.describe()).runId;
    let rate = 0.25;
    let changes = 1;
    while ((await handle.describe()).runId === before) {
      rate += 0.001;
      await handle.executeUpdate<string, [object]>('change', { args: [{ ppo: { learningRate: rate } }] });
      changes++;
      while ((await readControls(world.deps.store, id)).length < changes + 1)
        await new Promise((r) => setTimeout(r, 10));
    }
    await until(handle, ({ state }) => state === 'paused');
    const refused = handle.executeUpdate<string, [object]>('change', { args: [{ seed: 1 }] });
    await assert.rejects(refused, (error: Error) => /seed: cannot change/.test(String(error.cause)));
    await handle.executeUpdate<string, [object]>('change', { args: [{ schedule: { alternatingSteps: 0 } }] });
    await handle.executeUpdate<string, []>('resume');
    const result = (await handle.result()) as RunResult;
    const asked = (await readControls(world.deps.store, id)) as ControlMetrics[];
    assert.ok(asked.length > 5 && asked.every(({ step, index }, i) => step === asked[0]!.step && index === i));
    let done = 0;
    const requests = asked
      .filter(({ action }) => action === 'change')
      .map(({ fields, at }) => ({ kind: 'change' as const, fields: fields!, at }));
    const steered = await undisturbed(run, {
      requests: () => (done >= asked[0]!.step ? requests : []),
      onProgress: ({ step }) => {
        done = step ?? done;
      },
    });
    assert.deepEqual(result.digests, steered.result.digests);
    const steps = (await readMetrics<RunMetrics>(world.deps.store, id)).filter((entry) => entry.kind === 'step');
    assert.equal(steps.length, 8, 'an alternating step less in each stage');
    assert.ok(steps.slice(asked[0]!.step).every((step) => Math.abs(step.learningRate - rate) < 1e-9));
  });

  it('holds a budget over it, and can be forked', async () => {
    const limited = { ...run, budget: { executions: 40 } };
    const result = (await (await startRun(host.client, id, limited)).result()) as RunResult;
    const whole = await undisturbed(limited);
    assert.match(result.stopped ?? '', /budget of 40 executions/);
    assert.equal(result.stopped, whole.result.stopped);
    assert.deepEqual(await bytesOf(world.deps.store, id), whole.bytes);
    assert.ok((await executions()).run > 1);
    const from = Object.keys(whole.bytes).find((name) => name === 'checkpoint_stage_1_epoch_1')!;
    const fork = { ...run, start: { run: id, checkpoint: from, schedule: 'rest' } };
    await (await startRun(host.client, `${id}-fork`, fork)).result();
    assert.equal((await readRun(world.deps.store, `${id}-fork`)).origin?.checkpoint, from);
    const steps = (await readMetrics<RunMetrics>(world.deps.store, `${id}-fork`)).filter(({ kind }) => kind === 'step');
    assert.equal(steps.length, 6);
  });

  it('is resumed after it was terminated there, and nothing finished is done twice', async () => {
    const hold = held(8);
    const handle = await startRun(host.client, id, run);
    await hold.reached;
    assert.ok((await executions()).run > 1);
    await handle.terminate('by hand');
    const { joined } = await resumeRun({ client: host.client, workers, store: world.deps.store }, id);
    assert.equal(joined.how, 'restarted');
    hold.release();
    const result = (await host.client.workflow.getHandle(id).result()) as RunResult;
    const expected = await undisturbed();
    assert.deepEqual(result.digests, expected.result.digests);
    assert.deepEqual(await bytesOf(world.deps.store, id), expected.bytes);
  });

  it('is one run to its schedule: the next start is left out while it goes on, then trains on from it', async () => {
    const name = id;
    const schedule = host.client.schedule.getHandle(name);
    const timing = { id, cron: '0 0 1 1 *', timeZone: 'UTC', jitter: '0s', catchUp: '1d', pauseOnFailure: true };
    const { seed: _, ...config } = run;
    await createSchedule(
      host.client,
      { ...timing, overlap: ScheduleOverlapPolicy.SKIP },
      scheduledInput(id, config as RunConfigInput, false),
    );
    type Info = Awaited<ReturnType<typeof schedule.describe>>;
    const described = async (condition: (now: Info) => boolean): Promise<Info> => {
      for (;;) {
        const now = await schedule.describe();
        if (condition(now)) return now;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const recent = ({ info }: Info): string[] => info.recentActions.map(({ action }) => action.workflow.workflowId);
    const going = ({ info }: Info): string[] =>
      info.runningActions.map((action) => ('workflow' in action ? action.workflow.workflowId : ''));
    const trigger = () => inProcess('schedule', 'trigger', name, '--store', world.folder);
    /** As `gauntlet schedule list` has it, once the server's index does. */
    const listed = async (
      condition: (row: { runs: string[]; paused: boolean; note: string }) => boolean,
    ): Promise<void> => {
      for (;;) {
        const { out } = await inProcess('schedule', 'list', '--json', '--store', world.folder);
        const rows = JSON.parse(out) as { id: string; runs: string[]; paused: boolean; note: string }[];
        if (condition(rows.find((row) => row.id === name)!)) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };

    let hold = held(8);
    assert.equal((await trigger()).code, 0);
    await hold.reached;
    const [first] = recent(await described((now) => recent(now).length === 1)) as [string];
    id = first;
    assert.ok((await executions()).run > 1);
    await schedule.trigger(ScheduleOverlapPolicy.SKIP); // as the clock does it
    const skipped = await described(({ info }) => info.numActionsSkippedOverlap === 1);
    assert.deepEqual([recent(skipped), going(skipped)], [[first], [first]]);
    const refused = await trigger();
    assert.deepEqual([refused.code, refused.err.includes(`npx gauntlet stop ${first} `)], [1, true], refused.err);
    await listed(({ runs, paused }) => runs.join() === first && !paused);
    hold.release();
    await host.client.workflow.getHandle(first).result();
    await described((now) => going(now).length === 0);

    hold = held(8, () => {
      throw new GauntletError('BAD_ADAPTER', 'the disk ate it');
    });
    assert.equal((await trigger()).code, 0);
    const [, second] = recent(await described((now) => recent(now).length === 2)) as [string, string];
    await hold.reached;
    const { store } = world.deps;
    assert.equal((await readRun(store, second)).origin?.run, first);
    const adapter = async (of: string, checkpoint: string) =>
      (await loadCheckpoint(store, of, checkpoint)).metadata.files['generator/adapter_model.safetensors'];
    assert.equal(await adapter(second, 'checkpoint_stage_0_epoch_0'), await adapter(first, 'best'));
    id = second;
    assert.ok((await executions()).run > 1);
    hold.release();
    await assert.rejects(host.client.workflow.getHandle(second).result(), WorkflowFailedError);
    await described(({ state }) => state.paused); // not by the end of its first part, but by how it ended
    await listed(({ runs, paused }) => runs.join() === [first, second].join() && paused);
    for (const [command, paused] of [
      ['resume', false],
      ['pause', true],
    ] as const) {
      assert.equal((await inProcess('schedule', command, name, '--store', world.folder)).code, 0);
      await listed((row) => row.paused === paused && (!paused || row.note === 'by hand'));
    }
    await schedule.delete();
  });
});
