// Live control and failures that wait, on a real server: what people ask by update, signal or command.
import assert from 'node:assert/strict';
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkflowFailedError, type WorkflowHandle, WorkflowUpdateFailedError } from '@temporalio/client';
import { createActivities } from '../../activities/index.js';
import { type Held, heldText, heldUp, openExecutions } from '../../cli/executions.js';
import { GauntletError } from '../../core/errors.js';
import type { ControlMetrics, RunMetrics, StepMetrics } from '../../core/schema/metrics.js';
import { type RunProgress, type RunResult, runProgressSchema } from '../../core/schema/run.js';
import { openFileStore } from '../../store/fileStore.js';
import { readMetrics } from '../../store/runs.js';
import { verifyStore } from '../../store/verify.js';
import type { RunningWorkers } from '../../workers/start.js';
import { runPipeline } from '../../workflows/pipeline.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { record } from './golden.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

/** One engine update a step. */
const RUN = {
  ...SMALL_RUN,
  ppo: { ...SMALL_RUN.ppo, epochs: 1, minibatch: 1000, warmupSteps: 0 },
  schedule: { stages: [1, 5], discriminatorSteps: 1, generatorSteps: 2, alternatingSteps: 0 },
};

describe('a run under control', function () {
  this.timeout(120_000);
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers;
  let id = 0;

  before(async function () {
    needTemporal(this);
    host = await startServer();
  });
  after(async () => host?.close());
  beforeEach(async () => {
    world = await doubles();
    workers = await workersOver(host.server, world);
  });
  afterEach(async () => {
    await workers?.shutdown();
    await rm(world.folder, { recursive: true, force: true });
  });

  const start = (input: object = RUN) => startRun(host.client, `control-${++id}`, input);
  const progressOf = async (handle: WorkflowHandle) =>
    runProgressSchema.parse(await handle.query<RunProgress>('progress'));
  async function until(handle: WorkflowHandle, condition: (progress: RunProgress) => boolean): Promise<RunProgress> {
    for (;;) {
      const progress = await progressOf(handle).catch(() => undefined);
      if (progress && condition(progress)) return progress;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  /** What the Web UI shows of the run as it stands, line by line. */
  const shown = async (handle: WorkflowHandle) => {
    const metadata = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    return metadata.currentDetails.split('\n\n');
  };
  const records = async <T extends RunMetrics['kind']>(handle: WorkflowHandle, kind: T) =>
    (await readMetrics<RunMetrics>(world.deps.store, handle.workflowId)).filter((record) => record.kind === kind);

  /** Of the run and of its first stage. */
  async function recordAs(name: string, handle: WorkflowHandle): Promise<void> {
    await record(`${name}-run`, handle);
    await record(`${name}-stage`, host.client.workflow.getHandle(`${handle.workflowId}/stage-1`));
  }

  /** Lets the update of step `n` of the run wait until it is released. */
  function holdUpdate(n: number): { reached: Promise<void>; release: () => void } {
    const { applyUpdate } = world.engine;
    let calls = 0;
    let release = (): void => undefined;
    let reach = (): void => undefined;
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      if (++calls === n) {
        reach();
        await gate;
      }
      return applyUpdate.apply(world.engine, given);
    };
    return { reached, release };
  }

  it('pauses between two steps, takes a change, goes on, records each with its step and time, and shows how to go on', async () => {
    const held = holdUpdate(1);
    const handle = await start();
    await held.reached;
    assert.match(await handle.executeUpdate<string, []>('pause'), /pauses after the step being done/);
    held.release();
    const paused = await until(handle, ({ state }) => state === 'paused');
    assert.equal(paused.step, 1);
    assert.deepEqual((await shown(handle)).slice(0, 2), [
      `**paused** · step 1 of ${paused.totalSteps}`,
      `go on with \`gauntlet resume ${handle.workflowId}\``,
    ]);
    const change = { ppo: { learningRate: 0.25 } };
    assert.match(await handle.executeUpdate<string, [object]>('change', { args: [change] }), /from the next step on/);
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal((await records(handle, 'step')).length, 1, 'no step while it is paused');
    await handle.executeUpdate<string, []>('resume');
    const result = (await handle.result()) as RunResult;
    const steps = (await records(handle, 'step')) as StepMetrics[];
    assert.deepEqual(
      steps.slice(1).map(({ learningRate }) => learningRate),
      [0.25, 0.25, 0.25, 0.25, 0.25],
    );
    const asked = (await records(handle, 'control')) as ControlMetrics[];
    assert.deepEqual(
      asked.map(({ action, step }) => [action, step]),
      [
        ['pause', 1],
        ['change', 1],
        ['resume', 1],
      ],
    );
    assert.ok(asked.every(({ at }) => Math.abs(Date.parse(at) - Date.now()) < 60_000));
    assert.equal(result.stopped, undefined);
    await recordAs('controlled', handle);
  });

  it('keeps what was asked across its stages', async () => {
    const held = holdUpdate(1);
    const handle = await start();
    await held.reached;
    await handle.executeUpdate<string, [object]>('change', { args: [{ schedule: { generatorSteps: 1 } }] });
    held.release();
    await handle.result();
    assert.deepEqual(
      ((await records(handle, 'step')) as StepMetrics[]).map(({ stage, phase }) => `${stage} ${phase}`),
      ['1 discriminator', '1 generator', '5 discriminator', '5 generator'],
    );
  });

  it('stops by a signal after the step at hand, and ends as a whole run does', async () => {
    const held = holdUpdate(2);
    const handle = await start();
    await held.reached;
    await handle.signal('stopRun');
    await until(handle, () => true); // the signal is in
    held.release();
    const result = (await handle.result()) as RunResult;
    assert.equal(result.stopped, 'asked to stop');
    assert.equal((await records(handle, 'step')).length, 2);
    assert.equal((await progressOf(handle)).state, 'completed');
  });

  async function refused(handle: WorkflowHandle, name: string, args: unknown[], message: RegExp): Promise<void> {
    const asked = handle.executeUpdate<string, [unknown]>(name, { args: args as [unknown] });
    await assert.rejects(asked, (error: unknown) => {
      assert.ok(error instanceof WorkflowUpdateFailedError);
      assert.match(String(error.cause?.message), message);
      return true;
    });
  }

  it('is steered to its very end: what is asked while its last checkpoint is written makes it go on', async () => {
    const { store } = world.deps;
    const { writeRunFile } = store;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const reached = new Promise<void>((reach) => {
      store.writeRunFile = async (runId, path, bytes) => {
        if (path === 'checkpoints/checkpoint_stage_5_epoch_2/metadata.json') {
          reach();
          await gate;
        }
        return writeRunFile.call(store, runId, path, bytes);
      };
    });
    const handle = await start();
    await reached;
    await until(handle, ({ stage, step }) => stage === 5 && step === 6);
    const change = { schedule: { generatorSteps: 3 } };
    assert.match(await handle.executeUpdate<string, [object]>('change', { args: [change] }), /from the next step on/);
    release();
    await handle.result();
    const steps = (await records(handle, 'step')) as StepMetrics[];
    assert.deepEqual(
      steps.slice(-2).map(({ step, epoch, phase }) => [step, epoch, phase]),
      [
        [6, 2, 'generator'],
        [7, 3, 'generator'],
      ],
    );
    const asked = (await records(handle, 'control')) as ControlMetrics[];
    assert.deepEqual(
      asked.map(({ action, step }) => [action, step]),
      [['change', 6]],
    );
  });

  it('refuses what cannot be, with one line', async () => {
    const held = holdUpdate(1);
    const handle = await start();
    await held.reached;
    await refused(handle, 'change', [{ seed: 3 }], /^seed: cannot change while a run goes on/);
    await refused(handle, 'change', [{ ppo: { learningRate: 'x' } }], /^ppo\.learningRate: /);
    await refused(handle, 'change', ['faster'], /object of fields/);
    await refused(handle, 'resume', [], /not paused/);
    await refused(handle, 'decide', ['retry'], /no failure waits/);
    await refused(handle, 'decide', ['perhaps'], /one of retry, skip, abort/);
    held.release();
    await handle.result();
  });

  it('is not harmed by what nobody should send it', async () => {
    const held = holdUpdate(1);
    const handle = await start();
    await held.reached;
    const long = 'x'.repeat(1_500_000);
    for (const fields of [`{"${long}": 1}`, `{"ppo": {"__proto__": {"clip": "${long}"}}}`]) {
      const asked = handle.executeUpdate<string, [object]>('change', { args: [JSON.parse(fields) as object] });
      await assert.rejects(asked, (error: WorkflowUpdateFailedError) => /at most/.test(String(error.cause?.message)));
    }
    const stage = host.client.workflow.getHandle(`${handle.workflowId}/stage-1`);
    const seed = { kind: 'change', fields: { seed: 3 }, at: new Date().toISOString() };
    for (const given of ['nothing', null, [null], [seed]]) await handle.signal('carry', given);
    for (const given of [null, { stage: 'one' }, { state: 7 }, { best: 3 }])
      await handle.signal('stageProgress', given);
    for (const given of [null, {}, { requests: [null, null], decisions: [] }]) await stage.signal('control', given);
    held.release();
    await handle.result();
    assert.equal((await records(handle, 'step')).length, 6);
    assert.deepEqual(await records(handle, 'control'), []);
  });

  it('hears of nothing more once its last step is done, and goes by what it was asked before', async () => {
    const { writeRunFile } = world.deps.store;
    let reach = (): void => undefined;
    let release = (): void => undefined;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const gate = new Promise<void>((resolve) => (release = resolve));
    world.deps.store.writeRunFile = async (runId, path, bytes) => {
      if (path === 'metrics/6-test.json') {
        reach();
        await gate;
      }
      return writeRunFile.call(world.deps.store, runId, path, bytes);
    };
    const handle = await start();
    await reached;
    const changes = [{ ppo: { learningRate: 0.25 } }];
    for (const [name, args] of Object.entries({ pause: [], resume: [], stop: [], change: changes }))
      await refused(handle, name, args, /^the last step is done: /);
    for (const signal of ['pauseRun', 'stopRun']) await handle.signal(signal);
    assert.equal((await progressOf(handle)).state, 'evaluating'); // the signals are in
    release();
    const result = (await handle.result()) as RunResult;
    assert.equal(result.stopped, undefined);
    assert.deepEqual(await records(handle, 'control'), []);
  });

  describe('with an activity that cannot succeed', () => {
    /** Updates fail for good from call `from` until call `to`, or until what it gives is called. */
    function broken(from: number, to = Number.POSITIVE_INFINITY): () => void {
      const { applyUpdate } = world.engine;
      let calls = 0;
      let failing = true;
      world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
        if (++calls >= from && calls < to && failing) throw new GauntletError('BAD_ADAPTER', 'the disk ate it');
        return applyUpdate.apply(world.engine, given);
      };
      return () => {
        failing = false;
      };
    }
    const expected = async (): Promise<RunResult> => {
      const other = await doubles();
      const result = await runPipeline(createActivities(other.deps), 'other', RUN);
      await rm(other.folder, { recursive: true, force: true });
      return result;
    };

    it('waits for a person, says what failed and how to go on; tried again, it ends with the same bytes', async () => {
      const mend = broken(2);
      const handle = await start();
      const waiting = await until(handle, ({ state }) => state === 'waiting');
      assert.deepEqual(waiting.failure, {
        activity: 'trainPolicy',
        code: 'BAD_ADAPTER',
        message: 'the disk ate it',
        inStep: true,
      });
      assert.deepEqual((await shown(handle)).slice(1, 3), [
        '`trainPolicy` failed: BAD_ADAPTER: the disk ate it',
        `go on with \`gauntlet resume ${handle.workflowId}\`, leave the step out with \`--skip\`, or end it with \`--abort\``,
      ]);
      const { searchAttributes } = await handle.describe();
      assert.deepEqual(
        [searchAttributes.GauntletState, searchAttributes.GauntletFailure],
        [['waiting'], ['BAD_ADAPTER']],
      );
      mend();
      assert.equal(await handle.executeUpdate<string, [string]>('decide', { args: ['retry'] }), 'retry: trainPolicy');
      const result = (await handle.result()) as RunResult;
      assert.deepEqual(result.digests, (await expected()).digests);
      assert.deepEqual((await handle.describe()).searchAttributes.GauntletFailure ?? [null], [null]);
      assert.equal((await progressOf(handle)).failure, undefined);
      await recordAs('waited', handle);
    });

    it('may fail again, and waits again', async () => {
      broken(1, 3);
      const handle = await start();
      await until(handle, ({ state }) => state === 'waiting');
      const again = (): Promise<string> => handle.executeUpdate<string, [string]>('decide', { args: ['retry'] });
      await again();
      // one decision is for one failure: until it has failed again, another is refused
      for (let accepted = false; !accepted; )
        accepted = await again().then(
          () => true,
          () => false,
        );
      await handle.result();
    });

    it('an evaluation and the step beside it ask one after the other, each for its own decision', async () => {
      const { writeRunFile } = world.deps.store;
      let writable = false;
      world.deps.store.writeRunFile = async (runId, path, bytes) => {
        if (!writable && path === 'metrics/1-validation.json') throw new GauntletError('BAD_INPUT', 'no such record');
        return writeRunFile.call(world.deps.store, runId, path, bytes);
      };
      const mend = { trainPolicy: broken(2), judgeEvaluation: () => (writable = true) };
      const handle = await start();
      const asked: string[] = [];
      for (const _ of Object.keys(mend)) {
        const isNew = ({ state, failure }: RunProgress) => state === 'waiting' && !asked.includes(failure!.activity);
        const activity = (await until(handle, isNew)).failure!.activity as keyof typeof mend;
        asked.push(activity);
        mend[activity]();
        await handle.executeUpdate<string, [string]>('decide', { args: ['retry'] });
      }
      await handle.result();
      assert.deepEqual(asked.sort(), ['judgeEvaluation', 'trainPolicy']);
      assert.equal((await records(handle, 'step')).length, 6);
    });

    it('leaves the step out where it is told to', async () => {
      const mend = broken(2);
      const handle = await start();
      await until(handle, ({ state }) => state === 'waiting');
      mend();
      await handle.executeUpdate<string, [string]>('decide', { args: ['skip'] });
      await handle.result();
      assert.equal((await records(handle, 'step')).length, 5);
      const [left] = (await records(handle, 'control')) as ControlMetrics[];
      assert.deepEqual([left!.action, left!.reason, left!.step], ['skip', 'trainPolicy: the disk ate it', 1]);
    });

    it('keeps no record of a step left out for what its epoch ends with', async () => {
      const { applyUpdate, generate } = world.engine;
      let [updates, failing] = [0, true];
      world.engine.applyUpdate = (...given: Parameters<typeof applyUpdate>) => {
        updates++;
        return applyUpdate.apply(world.engine, given);
      };
      world.engine.generate = async (...given: Parameters<typeof generate>) => {
        if (failing && updates === 6) throw new GauntletError('BAD_ADAPTER', 'the disk ate it');
        return generate.apply(world.engine, given);
      };
      const handle = await start();
      assert.equal((await until(handle, ({ state }) => state === 'waiting')).failure?.activity, 'trainPolicy');
      failing = false;
      await handle.executeUpdate<string, [string]>('decide', { args: ['skip'] });
      await handle.result();
      assert.equal((await records(handle, 'step')).length, 5);
    });

    it('ends where it is told to, with the failure as its own', async () => {
      broken(1);
      const handle = await start();
      await until(handle, ({ state }) => state === 'waiting');
      await handle.executeUpdate<string, [string]>('decide', { args: ['abort'] });
      await assert.rejects(handle.result(), (error: unknown) => {
        assert.ok(error instanceof WorkflowFailedError);
        assert.equal(error.cause?.message, 'the disk ate it');
        return true;
      });
    });

    it('fails at once where nobody is to be waited for, and after the limit where nobody came', async () => {
      broken(1);
      const atOnce = await start({ ...RUN, failure: { onFailure: 'fail' } });
      await assert.rejects(atOnce.result(), WorkflowFailedError);
      await recordAs('failed', atOnce);
      const limited = await start({ ...RUN, seed: 8, failure: { waitHours: 0.0003 } });
      await until(limited, ({ state }) => state === 'waiting' || state === 'failed');
      await assert.rejects(limited.result(), WorkflowFailedError);
      assert.equal((await progressOf(limited)).state, 'failed');
    });
  });

  it('a change of what a failure does holds from the next step on, to the end of the run', async () => {
    const { writeRunFile } = world.deps.store;
    const broken = new Set(['metrics/2.json', 'metrics/6-test.json']);
    world.deps.store.writeRunFile = async (runId, path, bytes) => {
      if (broken.has(path)) throw new GauntletError('BAD_INPUT', 'no such record');
      return writeRunFile.call(world.deps.store, runId, path, bytes);
    };
    const held = holdUpdate(1);
    const handle = await start({ ...RUN, failure: { onFailure: 'fail' } });
    await held.reached;
    await handle.executeUpdate<string, [object]>('change', { args: [{ failure: { onFailure: 'wait' } }] });
    held.release();
    for (const [path, activity] of [
      ['metrics/2.json', 'trainPolicy'],
      ['metrics/6-test.json', 'judgeEvaluation'],
    ] as const) {
      const over = await until(handle, ({ state }) => state === 'waiting' || state === 'failed');
      assert.deepEqual([over.state, over.failure?.activity], ['waiting', activity]);
      broken.delete(path);
      await handle.executeUpdate<string, [string]>('decide', { args: ['retry'] });
      await until(handle, ({ state }) => state !== 'waiting');
    }
    await handle.result();
  });

  it('an infrastructure fault is tried as often as was asked, then waits too', async () => {
    const run = world.sandbox.run.bind(world.sandbox);
    let faults = 0;
    let failing = true;
    world.sandbox.run = async (jobs) => {
      if (failing && ++faults > 0) throw new GauntletError('SANDBOX_FAULT', 'the daemon went away');
      return run(jobs);
    };
    const handle = await start({ ...RUN, failure: { attempts: 2 } });
    const waiting = await until(handle, ({ state }) => state === 'waiting');
    assert.deepEqual([waiting.failure?.code, waiting.failure?.inStep, faults], ['SANDBOX_FAULT', false, 2]);
    failing = false;
    await handle.executeUpdate<string, [string]>('decide', { args: ['retry'] });
    await handle.result();
  });

  it('a full disk is waited out: status says why, nothing is half-written, and the run ends with the same bytes', async () => {
    const other = await doubles();
    const expected = await runPipeline(createActivities(other.deps), 'other', RUN);
    await rm(other.folder, { recursive: true, force: true });
    const disk = await limitedDisk(150);
    try {
      const handle = await start();
      const tried = async (): Promise<Held[]> =>
        (await heldUp(host.client, await openExecutions(host.client, handle.workflowId))).filter(
          ({ attempt }) => attempt > 2,
        );
      let held = await tried();
      for (; held.length === 0; held = await tried()) await new Promise((resolve) => setTimeout(resolve, 100));
      assert.match(
        heldText(handle.workflowId, held[0]!),
        /^\w+ is being tried again \(attempt 3\): STORE_FAULT: writing \/.*: no space left \(ENOSPC\): check free space/,
      );
      assert.ok(disk.refused() >= 2);
      const { findings } = await verifyStore(await openFileStore(world.folder));
      // a record whose writer was cut off before its digest is told as such: it is written again
      assert.deepEqual(
        findings.filter(({ problem }) => !/its writer was killed|was killed before/.test(problem)),
        [],
      );
      assert.deepEqual(await readdir(join(world.folder, 'tmp')), []);
      disk.makeRoom();
      const result = (await handle.result()) as RunResult;
      assert.deepEqual([result.digests, result.after], [expected.digests, expected.after]);
      assert.deepEqual((await verifyStore(await openFileStore(world.folder))).findings, []);
    } finally {
      disk.makeRoom();
    }
  });

  /** A disk that takes so many files more: of the next one half is written, then there is no space left. */
  async function limitedDisk(files: number): Promise<{ refused(): number; makeRoom(): void }> {
    const probe = await open(world.folder, 'r');
    const handle = Object.getPrototypeOf(probe) as { writeFile: (data: Uint8Array | string) => Promise<void> };
    await probe.close();
    const { writeFile } = handle;
    let left = files;
    let refused = 0;
    handle.writeFile = async function (data) {
      if (left-- > 0) return writeFile.call(this, data);
      refused++;
      await writeFile.call(this, data.slice(0, data.length / 2));
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' });
    };
    return {
      refused: () => refused,
      makeRoom: () => {
        handle.writeFile = writeFile;
      },
    };
  }
});
