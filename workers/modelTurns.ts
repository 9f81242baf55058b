// One model call at a time has the whole machine, by whichever queue it came: the one of the role, or the worker's own,
// which a run keeps to while this worker lives (workflows/modelWorker.ts).
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { type Context, Context as CurrentContext } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { type ModelWorkerClaim, TASK_QUEUES } from '../core/queues.js';

const CLAIM = 'claimModelWorker';
const DECLINES = 4; // of a claim, by workers that are at work: so long an idle one may take it
const DECLINED_MS = 200;

export class ModelTurns {
  private last: Promise<unknown> = Promise.resolve();
  private present = 0; // calls at work or waiting for their turn

  get busy(): boolean {
    return this.present > 0;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    this.present++;
    const turn = this.last.then(work);
    this.last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.present--;
    }
  }

  interceptor = ({ info }: Context): { inbound: ActivityInboundCallsInterceptor } => ({
    inbound: {
      execute: (input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>) =>
        info.activityType === CLAIM ? next(input) : this.take(() => next(input)),
    },
  });
}

/** A queue that no other worker serves, now or later. */
export const ownQueue = (): string =>
  `${TASK_QUEUES.gpu}/${hostname()}/${process.pid}-${randomBytes(4).toString('hex')}`;

/** The activity by which a run chooses its worker: this one, unless it is at work and another may be idle. */
export function claiming(turns: Pick<ModelTurns, 'busy'>, claim: ModelWorkerClaim) {
  return {
    async [CLAIM](): Promise<ModelWorkerClaim> {
      const { attempt } = CurrentContext.current().info;
      if (turns.busy && attempt <= DECLINES) {
        const category = ApplicationFailureCategory.BENIGN;
        throw ApplicationFailure.create({ message: 'at work', type: 'BUSY', nextRetryDelay: DECLINED_MS, category });
      }
      return claim;
    },
  };
}
