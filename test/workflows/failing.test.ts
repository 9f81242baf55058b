// A run on a real server with an activity that fails permanently: the run waits for a decision or fails. decisions.test.ts
// tests the other decisions, and failing.system.test.ts failures that are retried.
import assert from 'node:assert/strict';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { RUN, undisturbed } from './disturbances.js';
import { runFixture } from './fixture.js';
import { record } from './golden.js';

const FAILS = { ...RUN, failure: { onFailure: 'fail' } };

describe('a run with an activity that fails for good', () => {
  const f = runFixture('failing');

  const decide = (decision: string): Promise<string> => f.update('decide', decision);
  /** The task queues of an activity's calls. */
  async function queuesOf(handle: WorkflowHandle, activity: string): Promise<string[]> {
    const { events } = await handle.fetchHistory();
    return events!.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === activity ? scheduled.taskQueue!.name! : [],
    );
  }
  const attributes = async () => (await f.run().describe()).searchAttributes;

  it('waits, names the failure and the command that continues, and completes with the same bytes after a retry', async () => {
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
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
    assert.deepEqual((await attributes()).GauntletFailure ?? [null], [null]);
    assert.equal((await f.progressOf(handle)).failure, undefined);
    assert.equal((await queuesOf(handle, 'claimModelWorker')).length, 2, 'the retry may go to another worker');
    await record('waited', handle);
  });

  it('fails at once if nobody is to decide, and shows the reason', async () => {
    f.failUpdates(1);
    const handle = await f.start(FAILS);
    await assert.rejects(handle.result(), (error: unknown) => {
      assert.ok(error instanceof WorkflowFailedError);
      assert.equal(error.cause?.message, 'the adapter is damaged', 'the root cause');
      return true;
    });
    assert.deepEqual((await f.details()).slice(0, 3), [
      '**failed** · step 0 of 4',
      '`trainPolicy` failed: BAD_ADAPTER: the adapter is damaged',
      `Continue with \`gauntlet resume ${f.id}\`.`,
    ]);
    const { GauntletState, GauntletFailure } = await attributes();
    assert.deepEqual([GauntletState, GauntletFailure], [['failed'], ['BAD_ADAPTER']]);
    await record('failed', handle);
  });
});
