// A run whose activity fails again and again is told of, because it is retried without limit.
import assert from 'node:assert/strict';
import { ApplicationFailure } from '@temporalio/common';
import { needText } from '../../cli/run/onWaiting.js';
import { type Need, retryTeller } from '../../workers/attention.js';

describe('the notice of retries', () => {
  const told = async (attempt: number, error: Error, workflowType = 'trainFullPipeline'): Promise<Need[]> => {
    const needs: Need[] = [];
    const info = { attempt, workflowType, activityType: 'executeSuite', workflowExecution: { workflowId: 'r' } };
    const { inbound } = retryTeller((need) => void needs.push(need))({ info } as never);
    const next = async (): Promise<never> => {
      throw error;
    };
    await assert.rejects(inbound!.execute!({} as never, next), error);
    return needs;
  };
  const fault = ApplicationFailure.create({ message: 'nobody answers', type: 'SANDBOX_FAULT' });

  it('comes with the sixth attempt, and again after an hour', async () => {
    const attempts = Array.from({ length: 130 }, (_, i) => i + 1);
    const due: number[] = [];
    for (const attempt of attempts) if ((await told(attempt, fault)).length > 0) due.push(attempt);
    assert.deepEqual(due, [6, 126]);
    const [need] = await told(6, fault);
    assert.equal(
      needText(need!),
      "run 'r' is retried: executeSuite failed: SANDBOX_FAULT: nobody answers; it goes on when the fault is gone",
    );
  });

  it('does not come for a failure that ends the retries, a busy worker, or other workflows', async () => {
    const final = ApplicationFailure.create({ message: 'wrong', type: 'BAD_INPUT', nonRetryable: true });
    const busy = ApplicationFailure.create({ message: 'busy', type: 'BUSY' });
    assert.deepEqual([...(await told(6, final)), ...(await told(6, busy)), ...(await told(6, fault, 'solve'))], []);
  });
});
