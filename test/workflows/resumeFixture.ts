// A run that `gauntlet resume` continues.
import assert from 'node:assert/strict';
import { WorkflowFailedError } from '@temporalio/client';
import { resumeRun } from '../../cli/run/resuming.js';
import type { Decision } from '../../core/control.js';
import { RUN, undisturbed } from './disturbances.js';
import { runFixture } from './fixture.js';

export const FAILS = { ...RUN, failure: { onFailure: 'fail' } };
export const CHANGE = { ppo: { learningRate: 2e-4 } };

export function resumeFixture() {
  const f = runFixture('resumed');
  return {
    f,
    resume: (decision?: Decision) =>
      resumeRun(
        { client: f.host.client, store: f.world.deps.store, ...(f.workers && { workers: f.workers }) },
        f.id,
        decision,
      ),
    statusOf: async (): Promise<string> => (await f.run().describe()).status.name,
    ended: (): Promise<unknown> => assert.rejects(f.run().result(), WorkflowFailedError),
    completesAsUndisturbed: async (): Promise<void> =>
      assert.deepEqual(await f.completed(), (await undisturbed()).bytes),
  };
}
