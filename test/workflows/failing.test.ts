// A run with an activity that fails for good, on a real server: the run waits for a decision, or fails.
import assert from 'node:assert/strict';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkflowFailedError, type WorkflowHandle, WorkflowUpdateFailedError } from '@temporalio/client';
import { describeExecution, type Held, heldActivities, heldText } from '../../cli/run/executions.js';
import { GauntletError } from '../../core/errors.js';
import type { RunProgress, RunResult } from '../../core/schema/run.js';
import { openStore } from '../../store/openStore.js';
import { verifyStore } from '../../store/verify.js';
import { replayError } from '../../workers/replay.js';
import { RUN, runFixture } from './fixture.js';
import { record } from './golden.js';

const FAILS = { ...RUN, failure: { onFailure: 'fail' } };

describe('a run with an activity that fails for good', function () {
  this.timeout(120_000);
  const f = runFixture('failing');

  const decide = (decision: string): Promise<string> => f.update('decide', decision);
  /** The task queues of the calls of an activity. */
  async function queuesOf(handle: WorkflowHandle, activity: string): Promise<string[]> {
    const { events } = await handle.fetchHistory();
    return events!.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === activity ? scheduled.taskQueue!.name! : [],
    );
  }
  const attributes = async () => (await f.run().describe()).searchAttributes;

  it('waits, says what failed and how to continue, and completes with the same bytes after retry', async () => {
    const { repair } = f.failUpdates(2);
    const handle = await f.start();
    const waiting = await f.until('waiting');
    const failure = { activity: 'trainPolicy', code: 'BAD_ADAPTER', message: 'the adapter is damaged', inStep: true };
    assert.deepEqual(waiting.failure, failure);
    assert.deepEqual((await f.details()).slice(0, 3), [
      '**waiting** · step 1 of 4',
      '`trainPolicy` failed: BAD_ADAPTER: the adapter is damaged',
      `Continue with \`gauntlet resume ${f.id}\`, skip the step with \`--skip\`, or end the run with \`--abort\`.`,
    ]);
    const { GauntletState, GauntletFailure } = await attributes();
    assert.deepEqual([GauntletState, GauntletFailure], [['waiting'], ['BAD_ADAPTER']]);
    repair();
    assert.equal(await decide('retry'), 'retry: trainPolicy');
    assert.deepEqual(await f.completed(), (await f.undisturbed()).bytes);
    assert.deepEqual((await attributes()).GauntletFailure ?? [null], [null]);
    assert.equal((await f.progressOf(handle)).failure, undefined);
    assert.equal((await queuesOf(handle, 'claimModelWorker')).length, 2, 'the retry may go to another worker');
    await record('waited', handle);
  });

  it('offers an activity to all model workers after the claimed one failed three times', async () => {
    const { engine } = f.world.deps;
    let calls = 0;
    f.world.deps.engine = async (...args) => {
      if (++calls <= 3) throw new GauntletError('ENVIRONMENT_CHANGED', 'this worker has another device');
      return engine(...args);
    };
    const handle = await f.start();
    assert.deepEqual(await f.completed(), (await f.undisturbed()).bytes);
    const [claimed, shared, ...more] = await queuesOf(handle, 'prepareRun');
    assert.match(claimed!, /^gauntlet-gpu\//);
    assert.deepEqual([shared, more], ['gauntlet-gpu', []]);
    assert.equal((await queuesOf(handle, 'claimModelWorker')).length, 2);
    assert.equal(await replayError(await handle.fetchHistory(), f.id), undefined);
  });

  it('waits again if the activity fails again', async () => {
    f.failUpdates(1, 3);
    const handle = await f.start();
    await f.until('waiting');
    await decide('retry');
    // A decision is for one failure: the next one is refused until the activity has failed again.
    const retried = () =>
      decide('retry').catch((error: unknown) => assert.ok(error instanceof WorkflowUpdateFailedError));
    while ((await retried()) === undefined);
    await handle.result();
  });

  it('waits for two decisions, one after the other, if an evaluation and the step beside it fail', async () => {
    const { repair: repairStep } = f.failUpdates(2);
    const { repair: repairEvaluation } = f.failWrite('metrics/1-validation.json');
    const repairs = { trainPolicy: repairStep, judgeEvaluation: repairEvaluation };
    await f.start();
    const failed: string[] = [];
    while (failed.length < 2) {
      const isNext = ({ state, failure }: RunProgress) => state === 'waiting' && !failed.includes(failure!.activity);
      const { activity, inStep } = (await f.until(isNext)).failure!;
      assert.equal(inStep, activity === 'trainPolicy');
      failed.push(activity);
      repairs[activity as keyof typeof repairs]();
      await decide('retry');
    }
    assert.deepEqual(await f.completed(), (await f.undisturbed()).bytes);
    assert.deepEqual(failed.sort(), ['judgeEvaluation', 'trainPolicy']);
  });

  it('completes the current step while the failure of an evaluation waits for a decision', async () => {
    const { repair } = f.failWrite('metrics/1-validation.json');
    const hold = f.holdUpdate(2);
    await f.start();
    await hold.reached;
    const { failure } = await f.until('waiting');
    assert.deepEqual([failure?.activity, failure?.inStep], ['judgeEvaluation', false]);
    hold.release();
    const waiting = await f.until(({ step }) => step === 2);
    assert.deepEqual([waiting.state, waiting.failure], ['waiting', failure]);
    repair();
    await decide('retry');
    assert.deepEqual(await f.completed(), (await f.undisturbed()).bytes);
  });

  it('fails before the next step if an evaluation fails and nobody is asked', async () => {
    f.failWrite('metrics/1-validation.json');
    const handle = await f.start(FAILS);
    await assert.rejects(handle.result(), WorkflowFailedError);
    assert.equal((await f.progressOf(handle)).failure?.activity, 'judgeEvaluation');
    assert.ok((await f.steps()).length < 4);
  });

  it('asks no longer if a shard that failed is computed after all, and asks about the next failure', async () => {
    const { scoreShard } = f.world.engine;
    let failures = 0;
    f.world.engine.scoreShard = async (...args: Parameters<typeof scoreShard>) => {
      if (args[1].shard.index === 1 && failures++ === 0)
        throw new GauntletError('BAD_ADAPTER', 'the adapter is damaged');
      return scoreShard.apply(f.world.engine, args);
    };
    const { repair } = f.failWrite('metrics/2.json');
    await f.start({ ...RUN, engine: { shards: 2 } });
    assert.equal((await f.until('waiting')).failure?.activity, 'scoreShard');
    await f.until(({ state, failure }) => state === 'waiting' && failure?.activity === 'recordMetrics');
    repair();
    await decide('retry');
    assert.deepEqual(await f.completed(), (await f.undisturbed()).bytes);
  });

  it('skips the step if a person decides so', async () => {
    const { repair } = f.failUpdates(2);
    const handle = await f.start();
    await f.until('waiting');
    repair();
    await decide('skip');
    await handle.result();
    assert.equal((await f.steps()).length, 3);
    const [skip] = await f.controls();
    assert.deepEqual([skip!.action, skip!.reason, skip!.step], ['skip', 'trainPolicy: the adapter is damaged', 1]);
  });

  it('records no metrics of a skipped step that failed after its update', async () => {
    const counter = f.beforeUpdate(() => undefined);
    const { generate } = f.world.engine;
    let isBroken = true;
    f.world.engine.generate = async (...args: Parameters<typeof generate>) => {
      if (isBroken && counter.calls === 4) throw new GauntletError('BAD_ADAPTER', 'the adapter is damaged');
      return generate.apply(f.world.engine, args);
    };
    const handle = await f.start();
    assert.equal((await f.until('waiting')).failure?.activity, 'trainPolicy'); // it writes the evaluation's samples
    isBroken = false;
    await decide('skip');
    await handle.result();
    assert.equal((await f.steps()).length, 3);
  });

  it('refuses to skip an activity that is not part of a step', async () => {
    const { generate } = f.world.engine;
    let isBroken = false;
    f.beforeWrite((path) => {
      if (path === 'metrics/4-test.json') isBroken = true; // only the final example follows
    });
    f.world.engine.generate = async (...args: Parameters<typeof generate>) => {
      if (isBroken) throw new GauntletError('BAD_ADAPTER', 'the adapter is damaged');
      return generate.apply(f.world.engine, args);
    };
    await f.start();
    const { failure } = await f.until('waiting');
    assert.deepEqual([failure?.activity, failure?.inStep], ['generateChains', false]);
    assert.equal((await f.details())[2], `Continue with \`gauntlet resume ${f.id}\` or end the run with \`--abort\`.`);
    await assert.rejects(decide('skip'), (error: WorkflowUpdateFailedError) =>
      /^generateChains is not part of a step: it cannot be skipped$/.test(String(error.cause?.message)),
    );
    isBroken = false;
    await decide('retry');
    assert.deepEqual(await f.completed(), (await f.undisturbed()).bytes);
  });

  it('fails with the root cause if a person decides to abort', async () => {
    f.failUpdates(1);
    const handle = await f.start();
    await f.until('waiting');
    await decide('abort');
    await assert.rejects(handle.result(), (error: unknown) => {
      assert.ok(error instanceof WorkflowFailedError);
      assert.equal(error.cause?.message, 'the adapter is damaged');
      return true;
    });
  });

  it('fails at once if nobody is asked, and shows the reason', async () => {
    f.failUpdates(1);
    const handle = await f.start(FAILS);
    await assert.rejects(handle.result(), WorkflowFailedError);
    assert.deepEqual((await f.details()).slice(0, 3), [
      '**failed** · step 0 of 4',
      '`trainPolicy` failed: BAD_ADAPTER: the adapter is damaged',
      `Continue with \`gauntlet resume ${f.id}\`.`,
    ]);
    const { GauntletState, GauntletFailure } = await attributes();
    assert.deepEqual([GauntletState, GauntletFailure], [['failed'], ['BAD_ADAPTER']]);
    await record('failed', handle);
  });

  it('fails if nobody decides in time', async () => {
    f.failUpdates(1);
    const handle = await f.start({ ...RUN, failure: { waitHours: 0.0001 } });
    await assert.rejects(handle.result(), WorkflowFailedError);
    assert.equal((await f.progressOf(handle)).state, 'failed');
  });

  it('fails at once if a change shortens the wait to less than has passed', async () => {
    f.failUpdates(1);
    const handle = await f.start();
    await f.until('waiting');
    await f.update('change', { failure: { waitHours: 1e-7 } });
    await assert.rejects(handle.result(), WorkflowFailedError);
    assert.equal((await f.progressOf(handle)).state, 'failed');
  });

  it('applies a change of the failure settings from the next step to the end of the run', async () => {
    const repairs = {
      'metrics/2.json': f.failWrite('metrics/2.json'),
      'metrics/4-test.json': f.failWrite('metrics/4-test.json'),
    };
    const hold = f.holdUpdate(1);
    const handle = await f.start(FAILS);
    await hold.reached;
    await f.update('change', { failure: { onFailure: 'wait' } });
    hold.release();
    for (const [path, activity] of [
      ['metrics/2.json', 'trainPolicy'],
      ['metrics/4-test.json', 'judgeEvaluation'],
    ] as const) {
      const found = await f.until(({ state }) => state === 'waiting' || state === 'failed');
      assert.deepEqual([found.state, found.failure?.activity], ['waiting', activity]);
      repairs[path].repair();
      await decide('retry');
      await f.until(({ state }) => state !== 'waiting');
    }
    await handle.result();
  });

  it('waits after the configured number of attempts if an infrastructure fault lasts', async () => {
    const run = f.world.sandbox.run.bind(f.world.sandbox);
    let faults = 0;
    let isBroken = true;
    f.world.sandbox.run = async (jobs) => {
      if (isBroken && ++faults > 0) throw new GauntletError('SANDBOX_FAULT', 'the daemon is gone');
      return run(jobs);
    };
    const handle = await f.start({ ...RUN, failure: { attempts: 2 } });
    const { failure } = await f.until('waiting');
    assert.deepEqual([failure?.code, failure?.inStep, faults], ['SANDBOX_FAULT', false, 2]);
    isBroken = false;
    await decide('retry');
    await handle.result();
  });

  it('retries while the disk is full, leaves no half-written file, and completes with the same bytes', async () => {
    const expected = await f.undisturbed();
    const disk = await limitedDisk(100);
    try {
      const handle = await f.start();
      const retried = async (): Promise<Held | undefined> => {
        const held = await heldActivities(f.host.client, (await describeExecution(f.host.client, f.id))!);
        return held.find(({ attempt }) => attempt > 2);
      };
      let held = await retried();
      for (; held === undefined; held = await retried()) await new Promise((resolve) => setTimeout(resolve, 50));
      assert.match(
        heldText(f.id, held),
        /^\w+ is being retried \(attempt 3\): STORE_FAULT: writing \/.*: no space left \(ENOSPC\): check the free space/,
      );
      assert.ok(disk.refused() >= 2);
      const { findings } = await verifyStore(await openStore(f.world.folder));
      // a record whose writer was interrupted before its digest is reported: it is written again
      assert.deepEqual(
        findings.filter(({ problem }) => !/its writer was killed|was killed before/.test(problem)),
        [],
      );
      assert.deepEqual(await readdir(join(f.world.folder, 'tmp')), []);
      disk.makeRoom();
      const result = (await handle.result()) as RunResult;
      assert.deepEqual([result.digests, result.after], [expected.result.digests, expected.result.after]);
      assert.deepEqual((await verifyStore(await openStore(f.world.folder))).findings, []);
    } finally {
      disk.makeRoom();
    }
  });

  /** A disk that takes so many more files. Half of the next file is written before the disk is full. */
  async function limitedDisk(files: number): Promise<{ refused(): number; makeRoom(): void }> {
    const probe = await open(f.world.folder, 'r');
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
