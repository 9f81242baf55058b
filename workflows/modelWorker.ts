// The worker that a run's model work goes to while it lives: it has the weights in memory and the keys and values of the
// chains it wrote. One that does not take up work in time is given up for another; what it had is computed again there,
// to the same bit.
import {
  ActivityFailure,
  type ActivityOptions,
  isCancellation,
  proxyActivities,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { DEPLOYMENT, type ModelWorkerClaim, TASK_QUEUES } from '../core/queues.js';

type Where = Pick<ActivityOptions, 'taskQueue' | 'scheduleToStartTimeout'>;

// A worker that lives takes work up in milliseconds, unless another run's is before it.
const PATIENCE = '2s';
// The one that answered just now, but is at work for somebody else.
const PATIENCE_WITH_THE_BUSY = '1 minute';

const { claimModelWorker } = proxyActivities<{ claimModelWorker(): Promise<ModelWorkerClaim> }>({
  taskQueue: TASK_QUEUES.gpu,
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '1 minute', // where no worker lives, the work itself waits for one
  retry: { initialInterval: '250ms', backoffCoefficient: 1.5, nonRetryableErrorTypes: ['NotFoundError'] },
  summary: 'a worker for the run’s model work',
});

export class ModelWorker {
  constructor(public claim?: ModelWorkerClaim) {}

  /** Where the worker that was claimed is gone or busy, another is; in the end whichever is free takes it. */
  async run<T>(work: (where: Where) => Promise<T>): Promise<T> {
    let patience = PATIENCE;
    for (let tries = 0; tries < 2; tries++) {
      const before = this.claim;
      if (before === undefined || isOfOtherCode(before)) this.claim = await claimed();
      if (this.claim === undefined) break;
      const { queue } = this.claim;
      try {
        return await work({ taskQueue: queue, scheduleToStartTimeout: patience });
      } catch (error) {
        if (!wasNotTakenUp(error)) throw error;
        this.claim = await claimed();
        if (this.claim?.queue === queue) patience = PATIENCE_WITH_THE_BUSY;
      }
    }
    return work({ taskQueue: TASK_QUEUES.gpu });
  }
}

/** Undefined where none answers, or those that do are of an earlier version. */
async function claimed(): Promise<ModelWorkerClaim | undefined> {
  try {
    return await claimModelWorker();
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return undefined;
  }
}

/** Workers of a build that is no longer current are to get no work. Without a deployment a build is only the SDK's. */
function isOfOtherCode({ buildId }: ModelWorkerClaim): boolean {
  const version = workflowInfo().currentDeploymentVersion;
  return buildId !== (version?.deploymentName === DEPLOYMENT ? version.buildId : undefined);
}

const wasNotTakenUp = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';
