// Model work of a run goes to one worker for as long as that worker is alive: it has the weights in memory, and the keys
// and values of the chains that it wrote. If the worker does not take work in time, the run claims another one, which computes
// missing results again, bit for bit. This is Temporal's pattern of a worker-specific task queue.
import {
  ActivityFailure,
  type ActivityOptions,
  isCancellation,
  proxyActivities,
  type TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { DEPLOYMENT, type ModelWorkerClaim, TASK_QUEUES } from '../core/temporal/queues.js';

export interface Destination extends Pick<ActivityOptions, 'taskQueue' | 'scheduleToStartTimeout'> {
  maxAttempts?: number; // default: no limit
}

const CLAIMED_ATTEMPTS = 3; // a fault may belong to the worker, e.g. if its GPU is broken or its disk is full
const START_TIMEOUT = '2s'; // an idle worker takes work within milliseconds
const BUSY_START_TIMEOUT = '1 minute'; // a worker that answered the claim may be working for another run

const { claimModelWorker } = proxyActivities<{ claimModelWorker(): Promise<ModelWorkerClaim> }>({
  taskQueue: TASK_QUEUES.gpu,
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '1 minute', // if no worker is alive, the work itself waits for one
  retry: { initialInterval: '250ms', backoffCoefficient: 1.5, nonRetryableErrorTypes: ['NotFoundError'] },
  summary: 'claim a model worker for the run',
});

export class ModelWorker {
  constructor(public claim?: ModelWorkerClaim) {}

  /**
   * Runs an activity on the claimed worker. If two workers did not take it, or the claimed one failed several times, any
   * worker may. After a failure the claim is dropped, so that later work does not depend on this worker either.
   */
  async run<T>(execute: (destination: Destination) => Promise<T>): Promise<T> {
    let scheduleToStartTimeout = START_TIMEOUT;
    for (let attempt = 0; attempt < 2; attempt++) {
      if (this.claim === undefined || isFromOtherBuild(this.claim)) this.claim = await claimWorker();
      if (this.claim === undefined) break;
      const { queue } = this.claim;
      try {
        return await execute({ taskQueue: queue, scheduleToStartTimeout, maxAttempts: CLAIMED_ATTEMPTS });
      } catch (error) {
        if (!wasNotTaken(error)) {
          if (isCancellation(error)) throw error;
          this.claim = undefined;
          if (!isExhausted(error)) throw error;
          break;
        }
        this.claim = await claimWorker();
        if (this.claim?.queue === queue) scheduleToStartTimeout = BUSY_START_TIMEOUT;
      }
    }
    return execute({ taskQueue: TASK_QUEUES.gpu });
  }
}

/** True if no worker took the activity from its task queue in time. */
const wasNotTaken = (error: unknown): boolean =>
  error instanceof ActivityFailure && (error.cause as Partial<TimeoutFailure>)?.timeoutType === 'SCHEDULE_TO_START';

/** True if the activity would have been tried again, but had no attempts left. */
const isExhausted = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.retryState === 'MAXIMUM_ATTEMPTS_REACHED';

/** Asks for a worker to claim. Undefined if no worker answers. */
const claimWorker = (): Promise<ModelWorkerClaim | undefined> =>
  claimModelWorker().catch((error: unknown) => {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return undefined;
  });

/** Private queues are not versioned, so the run checks itself that the worker has the current build. */
function isFromOtherBuild({ buildId }: ModelWorkerClaim): boolean {
  const version = workflowInfo().currentDeploymentVersion;
  return buildId !== (version?.deploymentName === DEPLOYMENT ? version.buildId : undefined);
}
