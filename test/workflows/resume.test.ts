// `gauntlet resume` for a run in every state, on a real server: each ends in a completed run with the bytes of an
// undisturbed one.
import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { createActivities } from '../../activities/index.js';
import { resumeRun } from '../../cli/resuming.js';
import type { Decision } from '../../core/control.js';
import { GauntletError } from '../../core/errors.js';
import { TASK_QUEUES } from '../../core/queues.js';
import type { ControlMetrics, RunMetrics } from '../../core/schema/metrics.js';
import { type RunProgress, runResultSchema } from '../../core/schema/run.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { readControls, readMetrics } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { workflowBundle } from '../../workers/bundle.js';
import type { RunningWorkers } from '../../workers/start.js';
import { type PipelineHooks, runPipeline } from '../../workflows/pipeline.js';
import { gauntlet } from '../cli/support.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

/** One engine update a step. */
const RUN = {
  ...SMALL_RUN,
  ppo: { ...SMALL_RUN.ppo, epochs: 1, learningRate: 1e-4, minibatch: 1000, warmupSteps: 0 },
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 3, alternatingSteps: 0 },
};

describe('gauntlet resume', function () {
  this.timeout(120_000);
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers | undefined;
  let id = '';
  let count = 0;

  before(async function () {
    needTemporal(this);
    host = await startServer();
  });
  after(async () => host?.close());
  async function open(): Promise<void> {
    id = `resumed-${++count}`;
    world = await doubles();
    workers = await workersOver(host.server, world);
  }
  async function close(): Promise<void> {
    await workers?.shutdown();
    await rm(world.folder, { recursive: true, force: true });
  }
  beforeEach(open);
  afterEach(close);

  const resume = (decision?: Decision) =>
    resumeRun({ client: host.client, store: world.deps.store, ...(workers ? { workers } : {}) }, id, decision);
  const start = (input: object = RUN) => startRun(host.client, id, input);
  const statusOf = async (workflowId = id): Promise<string> =>
    (await host.client.workflow.getHandle(workflowId).describe()).status.name;

  type Bytes = Record<string, Record<string, string>>;

  /** Every file of every checkpoint by its digest. */
  async function bytesOf(store: Store, runId: string): Promise<Bytes> {
    return Object.fromEntries((await listCheckpoints(store, runId)).map(({ name, files }) => [name, files]));
  }
  async function undisturbed(config: object = RUN, hooks: PipelineHooks = {}): Promise<Bytes> {
    const other = await doubles();
    await runPipeline(createActivities(other.deps), 'other', config, hooks);
    const bytes = await bytesOf(other.deps.store, 'other');
    await rm(other.folder, { recursive: true, force: true });
    assert.ok(Object.keys(bytes).length >= 2);
    return bytes;
  }
  async function completed(): Promise<Bytes> {
    runResultSchema.parse(await host.client.workflow.getHandle(id).result());
    return bytesOf(world.deps.store, id);
  }
  async function until(handle: WorkflowHandle, state: RunProgress['state']): Promise<void> {
    for (;;) {
      const progress = await handle.query<RunProgress>('progress').catch(() => undefined);
      if (progress?.state === state) return;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  /** Updates of the engine: how many there were, and what comes before the next one. */
  function watchUpdates(first: (call: number) => Promise<void>): { calls: number } {
    const { applyUpdate } = world.engine;
    const seen = { calls: 0 };
    world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      await first(++seen.calls);
      return applyUpdate.apply(world.engine, given);
    };
    return seen;
  }
  /** Updates fail for good from the `from`th on, until they are mended. */
  function broken(from: number): { mend(): void; calls: number } {
    let failing = true;
    const seen = watchUpdates(async (call) => {
      if (failing && call >= from) throw new GauntletError('BAD_ADAPTER', 'the disk ate it');
    });
    return Object.assign(seen, {
      mend: () => {
        failing = false;
      },
    });
  }
  /** The `n`th update waits. */
  function held(n: number): { reached: Promise<void>; release(): void; seen: { calls: number } } {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let seen = { calls: 0 };
    const reached = new Promise<void>((resolve) => {
      seen = watchUpdates(async (call) => {
        if (call !== n) return;
        resolve();
        await gate;
      });
    });
    return { reached, release, seen };
  }
  const refused = (decision: Decision | undefined, code: string, message: RegExp) =>
    assert.rejects(resume(decision), { code, message });

  it('of a run that waits tries again what failed', async () => {
    const fault = broken(2);
    await until(await start(), 'waiting');
    fault.mend();
    assert.equal((await resume()).said, 'tries trainPolicy again');
    assert.deepEqual(await completed(), await undisturbed());
  });

  it('--skip leaves the step out, --abort ends the run, and resumed once more it completes', async () => {
    const fault = broken(3);
    const handle = await start();
    await until(handle, 'waiting');
    assert.equal((await resume('skip')).said, 'leaves out the step of trainPolicy');
    await until(handle, 'waiting'); // the step after it fails as well
    while ((await readControls(world.deps.store, id)).length === 0) await new Promise((r) => setTimeout(r, 20));
    for (let ended = false; !ended; ) {
      ended = await resume('abort').then(
        ({ said }) => said === 'ends',
        () => false, // the one that was skipped is still shown
      );
    }
    await assert.rejects(handle.result(), WorkflowFailedError);
    await refused('abort', 'BAD_INPUT', /is failed: it waits for no decision/);
    fault.mend();
    const { joined, said } = await resume();
    assert.equal(joined.how, 'restarted');
    assert.equal(said, 'was failed: started again under its id: finished work is taken from the store');
    await completed();
    const steps = (await readMetrics<RunMetrics>(world.deps.store, id)).filter(({ kind }) => kind === 'step');
    assert.equal(steps.length, 3, 'the step that was left out stays left out');
    assert.equal((await readControls(world.deps.store, id)).length, 1);
  });

  it('--abort as a command names the way back and nothing to follow; to have waited for the end is no failure', async () => {
    broken(2);
    const env = { TEMPORAL_ADDRESS: host.server.address };
    for (const watch of [[], ['--watch']]) {
      id = `resumed-${++count}`;
      const handle = await start();
      await until(handle, 'waiting');
      const { code, out, err } = await gauntlet(['resume', id, '--abort', ...watch, '--store', world.folder], env);
      assert.equal(code, 0, err);
      assert.equal(out, `what it did stays in the store; go on after all with: npx gauntlet resume ${id} --watch\n`);
      assert.match(err, new RegExp(`run '${id}' ends$`, 'm'));
      assert.doesNotMatch(err, /follow|try again|no worker/);
      if (watch.length > 0) assert.equal(await statusOf(), 'FAILED');
      await assert.rejects(handle.result(), WorkflowFailedError);
    }
  });

  it('of one that ended between the decision to leave a step out and doing so asks again', async () => {
    const fault = broken(2);
    const { store } = world.deps;
    const { writeRunFile } = store;
    let release = (): void => undefined;
    const reached = new Promise<void>((resolve) => {
      store.writeRunFile = async (...given) => {
        if (!given[1].includes('control')) return writeRunFile.apply(store, given);
        store.writeRunFile = writeRunFile;
        resolve();
        await new Promise<void>((go) => {
          release = go;
        });
        throw new GauntletError('BAD_INPUT', 'the run has ended');
      };
    });
    const handle = await start();
    await until(handle, 'waiting');
    assert.equal((await resume('skip')).said, 'leaves out the step of trainPolicy');
    await reached; // it is about to be put on record
    await handle.terminate('by hand');
    assert.equal((await resume()).joined.how, 'restarted');
    release();
    await until(host.client.workflow.getHandle(id), 'waiting');
    assert.deepEqual(await readControls(store, id), []);
    fault.mend();
    assert.equal((await resume('skip')).said, 'leaves out the step of trainPolicy');
    await completed();
    const steps = (await readMetrics<RunMetrics>(store, id)).filter(({ kind }) => kind === 'step');
    assert.equal(steps.length, 3);
    assert.deepEqual(
      (await readControls(store, id)).map(({ action }) => action),
      ['skip'],
    );
  });

  it('of a paused run ends the pause, and says so of one that goes on or has finished', async () => {
    const hold = held(1);
    const handle = await start();
    await hold.reached;
    assert.equal((await resume()).said, 'goes on where it was');
    await refused('abort', 'BAD_INPUT', /waits for no decision/);
    await handle.executeUpdate<string, []>('pause');
    hold.release();
    await until(handle, 'paused');
    assert.equal((await resume()).said, 'goes on after its pause');
    assert.deepEqual(await completed(), await undisturbed());
    const again = await resume();
    assert.deepEqual([again.joined.how, again.said], ['finished', 'had finished; nothing to do']);
  });

  it('twice at once starts it once, and the later one disturbs nothing', async () => {
    const fault = broken(2);
    await assert.rejects((await start({ ...RUN, failure: { onFailure: 'fail' } })).result(), WorkflowFailedError);
    fault.mend();
    const both = await Promise.all([resume(), resume()]);
    assert.deepEqual(both.map(({ joined }) => joined.how).sort(), ['joined', 'restarted']);
    assert.deepEqual(await completed(), await undisturbed());
  });

  it('that looked before another one had started the run again leaves its stage alone', async () => {
    const fault = broken(2);
    await assert.rejects((await start({ ...RUN, failure: { onFailure: 'fail' } })).result(), WorkflowFailedError);
    fault.mend();
    const hold = held(1);
    let looked = (): void => undefined;
    const first = new Promise<void>((resolve) => {
      looked = resolve;
    });
    const slow = Object.create(host.client, {
      workflow: {
        value: Object.create(host.client.workflow, {
          getHandle: {
            value: (...given: Parameters<typeof host.client.workflow.getHandle>) => {
              const handle = host.client.workflow.getHandle(...given);
              const { fetchHistory } = handle;
              handle.fetchHistory = async () => {
                looked();
                await hold.reached;
                return fetchHistory.call(handle);
              };
              return handle;
            },
          },
        }),
      },
    }) as typeof host.client;
    const late = resumeRun({ client: slow, store: world.deps.store }, id);
    await first;
    assert.equal((await resume()).joined.how, 'restarted');
    await hold.reached;
    assert.equal((await late).joined.how, 'joined');
    hold.release();
    assert.deepEqual(await completed(), await undisturbed());
  });

  it('of one that failed starts it again, and nothing finished is done twice', async () => {
    const fault = broken(3);
    const config = { ...RUN, failure: { onFailure: 'fail' } };
    await assert.rejects((await start(config)).result(), WorkflowFailedError);
    fault.mend();
    assert.match((await resume()).said, /^was failed: started again/);
    assert.deepEqual(await completed(), await undisturbed());
    assert.equal(fault.calls, 5, 'two that were done, one that failed, two that were left');
  });

  for (const [how, status, end, seconds] of [
    ['terminated', 'TERMINATED', (handle: WorkflowHandle) => handle.terminate('by hand'), undefined],
    ['cancelled', 'CANCELLED', (handle: WorkflowHandle) => handle.cancel(), undefined],
    ['timed out', 'TIMED_OUT', async () => undefined, 3],
  ] as const) {
    it(`of one that was ${how} ends its stage and starts it again, with what was asked of it before`, async () => {
      const change = { ppo: { learningRate: 2e-4 } };
      /** A run up to its third update; undefined where its time ended before that. */
      const upToHold = async (hold: ReturnType<typeof held>, limit: number | undefined) => {
        const handle = await host.client.workflow.start('trainFullPipeline', {
          ...{ taskQueue: TASK_QUEUES.orchestrator, workflowId: id, args: [RUN] },
          ...(limit === undefined ? {} : { workflowExecutionTimeout: `${limit}s` }),
        });
        let isOver = false;
        const over = handle.result().catch(() => {
          isOver = true;
        });
        for (let accepted = false; !accepted && !isOver; ) {
          accepted = await handle.executeUpdate<string, [object]>('change', { args: [change] }).then(
            () => true,
            () => false, // it is being prepared
          );
        }
        await Promise.race([hold.reached, over]);
        return isOver ? undefined : handle;
      };
      let hold = held(3);
      let handle = await upToHold(hold, seconds);
      for (let limit = seconds ?? 0; handle === undefined; handle = await upToHold(hold, limit)) {
        limit *= 3; // a slow machine
        hold.release();
        await close();
        await open();
        hold = held(3);
      }
      const asked = await readControls(world.deps.store, id);
      await end(handle);
      await assert.rejects(handle.result());
      assert.equal(await statusOf(), status);
      const { joined } = await resume();
      assert.equal(joined.how, 'restarted');
      hold.release();
      const bytes = await completed();
      const [{ action, step, stage, next, at }] = asked as [ControlMetrics];
      assert.deepEqual([action, stage, next], ['change', 5, step]);
      const requests = [{ kind: 'change' as const, fields: change, at }];
      let done = 0;
      const counted: PipelineHooks = {
        requests: () => (done >= step ? requests : []),
        onProgress: (update) => {
          done = update.step ?? done;
        },
      };
      assert.deepEqual(bytes, await undisturbed(RUN, counted));
      assert.notDeepEqual(bytes, await undisturbed());
      assert.deepEqual(await readControls(world.deps.store, id), asked, 'the record of it stays as it was');
    });
  }

  it('of one whose stage had continued as new', async () => {
    const long = { ...RUN, schedule: { stages: [5], discriminatorSteps: 0, generatorSteps: 18, alternatingSteps: 0 } };
    const hold = held(18);
    const handle = await start(long);
    await hold.reached;
    await handle.terminate('by hand');
    await resume();
    hold.release();
    assert.deepEqual(await completed(), await undisturbed(long));
    assert.ok(hold.seen.calls <= 19, `${hold.seen.calls} updates of 18 steps`);
  });

  it('without a worker says that it goes on as soon as there is one', async () => {
    const fault = broken(2);
    await until(await start(), 'waiting');
    fault.mend();
    await workers?.shutdown();
    workers = undefined;
    assert.equal((await resume()).said, 'goes on where it was as soon as a worker serves it');
    await refused('skip', 'SERVER_UNAVAILABLE', /no worker serves runs/);
    workers = await workersOver(host.server, world);
    assert.equal((await resume()).said, 'tries trainPolicy again');
    assert.deepEqual(await completed(), await undisturbed());
  });

  for (const part of ['trainFullPipeline', 'trainStage'] as const) {
    it(`of one whose ${part} the workers’ new code cannot replay starts it again, and says why`, async () => {
      await workers?.shutdown();
      workers = await workersOver(host.server, world, { workflows: await olderCode(part) });
      const fault = broken(2);
      const handle = await start();
      await until(handle, 'waiting');
      const first = (await handle.describe()).runId;
      await workers.shutdown();
      workers = await workersOver(host.server, world);
      fault.mend();
      const { joined, said } = await resume();
      assert.equal(joined.how, 'restarted');
      assert.match(
        said,
        /^could not go on \(the history of 'resumed-\d+(\/stage-5)?' is of other code: .*\): terminated/,
      );
      assert.deepEqual(await completed(), await undisturbed());
      const ended = await host.client.workflow.getHandle(id, first).describe();
      assert.equal(ended.status.name, 'TERMINATED');
      assert.equal(fault.calls, 5, 'what was finished is not done again');
    });
  }

  it('ends one that no worker can replay where it is told to', async () => {
    await workers?.shutdown();
    workers = await workersOver(host.server, world, { workflows: await olderCode('trainStage') });
    broken(1);
    await until(await start(), 'waiting');
    await workers.shutdown();
    workers = await workersOver(host.server, world);
    await refused('skip', 'BAD_INPUT', /hears of nothing/);
    assert.match((await resume('abort')).said, /^ends: the history of/);
    assert.deepEqual([await statusOf(), await statusOf(`${id}/stage-5`)], ['TERMINATED', 'TERMINATED']);
  });

  it('refuses what is no training run', async () => {
    await refused(undefined, 'NOT_FOUND', /no run 'resumed-/);
    await (await start()).result();
    id = `${id}/stage-5`;
    await refused(undefined, 'BAD_INPUT', /is no training run but a trainStage: npx gauntlet resume resumed-\d+$/);
  });

  /** Workflow code that waits a moment first, which today's does not. */
  async function olderCode(workflow: string): Promise<string> {
    const code = await readFile(await workflowBundle(), 'utf8');
    const [found, head, sdk] =
      new RegExp(`(async function ${workflow}\\([^)]*\\) \\{)[^]*?(_temporalio_workflow__WEBPACK\\w+)`).exec(code) ??
      [];
    assert.ok(found && head && sdk);
    const path = join(world.folder, `older-${workflow}.js`);
    await writeFile(path, code.replace(head, `${head} await (0,${sdk}.sleep)('1ms');`));
    return path;
  }
});
