// A run on a real server with an activity that fails and is tried again, on another worker or until a limit.
import assert from 'node:assert/strict';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { describeExecution, type Held, heldActivities, heldText } from '../../cli/run/executions.js';
import { replayError } from '../../cli/run/replayHistory.js';
import { GauntletError } from '../../core/base/errors.js';
import type { RunResult } from '../../core/schema/run.js';
import { openStore } from '../../store/openStore.js';
import { verifyStore } from '../../store/verify.js';
import { RUN, undisturbed } from './disturbances.js';
import { runFixture } from './fixture.js';

describe('a run with an activity that is tried again', () => {
  const f = runFixture('retried');

  const decide = (decision: string): Promise<string> => f.update('decide', decision);
  /** The task queues of an activity's calls. */
  async function queuesOf(handle: WorkflowHandle, activity: string): Promise<string[]> {
    const { events } = await handle.fetchHistory();
    return events!.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === activity ? scheduled.taskQueue!.name! : [],
    );
  }

  it('offers an activity to all model workers after the chosen worker failed three times', async () => {
    const { engine } = f.world.deps;
    let calls = 0;
    f.world.deps.engine = async (...args) => {
      if (++calls <= 3) throw new GauntletError('ENVIRONMENT_CHANGED', 'this worker has another device');
      return engine(...args);
    };
    const handle = await f.start();
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
    const [claimed, shared, ...more] = await queuesOf(handle, 'prepareRun');
    assert.match(claimed!, /^gauntlet-gpu\//);
    assert.deepEqual([shared, more], ['gauntlet-gpu', []]);
    assert.equal((await queuesOf(handle, 'claimModelWorker')).length, 2);
    assert.equal(await replayError(await handle.fetchHistory(), f.id), undefined);
  });

  it('withdraws its question if a failed shard is computed after all, and asks about the next failure', async () => {
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
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
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
    const expected = await undisturbed();
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
      // the writer of a record was interrupted before it reported the digest, so the record is written again
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

  /** A disk with room for this number of files. Half of the next file is written before the disk is full. */
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
