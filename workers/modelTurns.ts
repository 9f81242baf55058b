// Lets one model call at a time use the whole machine, whether it came by the queue of the role or by the private queue of this
// worker. A run uses the private queue while the worker is alive (workflows/modelWorker.ts).
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { MAX_DECLINES, type ModelWorkerClaim, TASK_QUEUES } from '../core/temporal/queues.js';
import { Turns } from '../infra/turns.js';

const DECLINE_DELAY_MS = 200;

export class ModelTurns extends Turns {
  /** Fails the activity if this worker is busy, so that Temporal offers it to an idle one. */
  declineIfBusy(attempt: number): void {
    if (this.fault) throw this.fault;
    if (!this.busy || attempt > MAX_DECLINES) return;
    throw ApplicationFailure.create({
      message: 'the worker is busy',
      type: 'BUSY',
      nextRetryDelay: DECLINE_DELAY_MS,
      category: ApplicationFailureCategory.BENIGN,
    });
  }
}

/** The name of a private queue. No other worker ever has the same name. */
export const ownQueue = (): string =>
  `${TASK_QUEUES.gpu}/${hostname()}/${process.pid}-${randomBytes(4).toString('hex')}`;

/** The activity with which a run claims a worker. A busy worker lets others answer first, because another worker may be idle. */
export function claiming(turns: Pick<ModelTurns, 'declineIfBusy'>, claim: ModelWorkerClaim) {
  return {
    async claimModelWorker(): Promise<ModelWorkerClaim> {
      turns.declineIfBusy(Context.current().info.attempt);
      return claim;
    },
  };
}
