// A run that `gauntlet resume` continues.
import assert from 'node:assert/strict';
import { WorkflowFailedError, type WorkflowHandle, type WorkflowStartOptions } from '@temporalio/client';
import { resumeRun } from '../../cli/run/resuming.js';
import type { Decision } from '../../core/run/control.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { RUN, undisturbed } from './disturbances.js';
import { runFixture } from './fixture.js';

export const FAILS = { ...RUN, failure: { onFailure: 'fail' } };
export const CHANGE = { ppo: { learningRate: 2e-4 } };

export function resumeFixture() {
  const f = runFixture('resumed');
  const resume = (decision?: Decision) =>
    resumeRun(
      { client: f.host.client, store: f.world.deps.store, ...(f.workers && { workers: f.workers }) },
      f.id,
      decision,
    );
  const statusOf = async (): Promise<string> => (await f.run().describe()).status.name;
  const ended = (): Promise<unknown> => assert.rejects(f.run().result(), WorkflowFailedError);
  const completesAsUndisturbed = async (): Promise<void> =>
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);

  /** A run in which one change is applied, another one is accepted, and `end` ends the run. A resumed run has both changes. */
  async function continuesAfter(
    how: 'terminated' | 'cancelled' | 'timed out',
    end: (handle: WorkflowHandle) => unknown,
    options: Partial<WorkflowStartOptions> = {},
  ): Promise<void> {
    const [second, third] = [f.holdUpdate(2), f.holdUpdate(3)];
    const start = { taskQueue: TASK_QUEUES.orchestrator, workflowId: f.id, args: [RUN] };
    const handle = await f.host.client.workflow.start('trainFullPipeline', { ...start, ...options });
    await second.reached;
    await f.update('change', CHANGE);
    second.release();
    await third.reached;
    await f.update('change', { budget: { tokens: 1e9 } });
    await end(handle);
    await ended();
    assert.equal(await statusOf(), how.toUpperCase().replace(' ', '_'));
    assert.deepEqual(await f.actions(), [['change', 2]]);
    const { joined, said } = await resume();
    assert.deepEqual([joined.how, said], ['restarted', `was ${how}: continues where it ended`]);
    third.release();
    const bytes = await f.completed();
    assert.equal((await f.actions()).join(' '), 'change,2 change,3');
    const { at } = (await f.controls())[0]!;
    assert.deepEqual(bytes, (await undisturbed(RUN, { 2: [{ kind: 'change', fields: CHANGE, at }] })).bytes);
    assert.notDeepEqual(bytes, (await undisturbed()).bytes);
  }

  return { f, resume, statusOf, ended, completesAsUndisturbed, continuesAfter };
}
