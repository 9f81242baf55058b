// A run with an activity that cannot succeed, on a real server: it waits for a person, or as long as it was told to.
import assert from 'node:assert/strict';
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkflowFailedError } from '@temporalio/client';
import { createActivities } from '../../activities/index.js';
import { type Held, heldText, heldUp, openExecutions } from '../../cli/executions.js';
import { GauntletError } from '../../core/errors.js';
import type { ControlMetrics } from '../../core/schema/metrics.js';
import type { RunProgress, RunResult } from '../../core/schema/run.js';
import { openFileStore } from '../../store/fileStore.js';
import { verifyStore } from '../../store/verify.js';
import { runPipeline } from '../../workflows/pipeline.js';
import { doubles } from '../support/doubles.js';
import { RUN, steeredRuns } from './steered.js';

describe('a run with an activity that cannot succeed', function () {
  this.timeout(120_000);
  const its = steeredRuns('failing');
  const { start, progressOf, until, shown, records, recordAs, holdUpdate, beforeWriting } = its;

  /** Updates fail for good from call `from` until call `to`, or until what it gives is called. */
  function broken(from: number, to = Number.POSITIVE_INFINITY): () => void {
    const { applyUpdate } = its.world.engine;
    let calls = 0;
    let failing = true;
    its.world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      if (++calls >= from && calls < to && failing) throw new GauntletError('BAD_ADAPTER', 'the disk ate it');
      return applyUpdate.apply(its.world.engine, given);
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
    let writable = false;
    beforeWriting((path) => {
      if (!writable && path === 'metrics/1-validation.json') throw new GauntletError('BAD_INPUT', 'no such record');
    });
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
    const { applyUpdate, generate } = its.world.engine;
    let [updates, failing] = [0, true];
    its.world.engine.applyUpdate = (...given: Parameters<typeof applyUpdate>) => {
      updates++;
      return applyUpdate.apply(its.world.engine, given);
    };
    its.world.engine.generate = async (...given: Parameters<typeof generate>) => {
      if (failing && updates === 6) throw new GauntletError('BAD_ADAPTER', 'the disk ate it');
      return generate.apply(its.world.engine, given);
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

  it('a change of what a failure does holds from the next step on, to the end of the run', async () => {
    const unwritable = new Set(['metrics/2.json', 'metrics/6-test.json']);
    beforeWriting((path) => {
      if (unwritable.has(path)) throw new GauntletError('BAD_INPUT', 'no such record');
    });
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
      unwritable.delete(path);
      await handle.executeUpdate<string, [string]>('decide', { args: ['retry'] });
      await until(handle, ({ state }) => state !== 'waiting');
    }
    await handle.result();
  });

  it('an infrastructure fault is tried as often as was asked, then waits too', async () => {
    const run = its.world.sandbox.run.bind(its.world.sandbox);
    let faults = 0;
    let failing = true;
    its.world.sandbox.run = async (jobs) => {
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
    await its.useDisk();
    const undisturbed = await expected();
    const disk = await limitedDisk(150);
    try {
      const handle = await start();
      const tried = async (): Promise<Held[]> =>
        (await heldUp(its.host.client, await openExecutions(its.host.client, handle.workflowId))).filter(
          ({ attempt }) => attempt > 2,
        );
      let held = await tried();
      for (; held.length === 0; held = await tried()) await new Promise((resolve) => setTimeout(resolve, 100));
      assert.match(
        heldText(handle.workflowId, held[0]!),
        /^\w+ is being tried again \(attempt 3\): STORE_FAULT: writing \/.*: no space left \(ENOSPC\): check free space/,
      );
      assert.ok(disk.refused() >= 2);
      const { findings } = await verifyStore(await openFileStore(its.world.folder));
      // a record whose writer was cut off before its digest is told as such: it is written again
      assert.deepEqual(
        findings.filter(({ problem }) => !/its writer was killed|was killed before/.test(problem)),
        [],
      );
      assert.deepEqual(await readdir(join(its.world.folder, 'tmp')), []);
      disk.makeRoom();
      const result = (await handle.result()) as RunResult;
      assert.deepEqual([result.digests, result.after], [undisturbed.digests, undisturbed.after]);
      assert.deepEqual((await verifyStore(await openFileStore(its.world.folder))).findings, []);
    } finally {
      disk.makeRoom();
    }
  });

  /** A disk that takes so many files more: of the next one half is written, then there is no space left. */
  async function limitedDisk(files: number): Promise<{ refused(): number; makeRoom(): void }> {
    const probe = await open(its.world.folder, 'r');
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
