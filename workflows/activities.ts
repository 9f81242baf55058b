// The activities over Temporal: task queues, time limits, retries, and what happens after a failure that no retry fixes.
import { type ActivityInterfaceFor, type ActivityOptions, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.js';
import type { Decision } from '../core/control.js';
import { MAX_DECLINES, TASK_QUEUES } from '../core/queues.js';
import type { RunFailure } from '../core/schema/run.js';
import { describeFailure, StepSkipped } from './failures.js';
import type { Destination, ModelWorker } from './modelWorker.js';
import { summaryOf } from './summaries.js';

// Infrastructure faults are retried for as long as they last. Faults of input or logic are marked non-retryable.
const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

// A batch starts from its beginning after a timeout, so a limit below its duration would never let it end. A batch of a
// large model on a CPU takes hours. So do dozens of programs that sleep up to their wall-clock limit.
const BATCH_LIMIT = '12 hours';

const QUEUES: Record<keyof Activities, 'gpu' | 'sandbox' | 'cpu'> = {
  prepareRun: 'gpu',
  prepareSolving: 'gpu',
  generateChains: 'gpu',
  generateTests: 'gpu',
  trainPolicy: 'gpu',
  trainOnExamples: 'gpu',
  generateEvaluation: 'gpu',
  scoreOldPolicy: 'gpu',
  scoreShard: 'gpu',
  computeGradients: 'gpu',
  applyGradients: 'gpu',
  updatePolicy: 'gpu',
  quarantineProblems: 'sandbox',
  answerFreshInputs: 'sandbox',
  executeSuite: 'sandbox',
  findFailures: 'sandbox',
  judgeEvaluation: 'sandbox',
  selectChains: 'sandbox',
  reviseRun: 'cpu',
  computeRewards: 'cpu',
  recordMetrics: 'cpu',
  measureEvaluation: 'cpu',
  collectSolutions: 'cpu',
  renderReport: 'cpu',
};

export interface ProxyOptions {
  /** Attempts of an activity that meets an infrastructure fault; null or absent: without limit. */
  maxAttempts?(): number | null;
  /** Called if an activity failed and no retry can fix it. Absent: the failure ends the workflow. */
  decide?(failure: RunFailure): Promise<Decision>;
  /** Absent: any model worker takes any of the work. */
  modelWorker?: ModelWorker;
}

export function createActivityProxies({ maxAttempts, decide, modelWorker }: ProxyOptions = {}): Activities {
  const createProxy = (name: keyof Activities) => {
    const queue = QUEUES[name];
    const options: ActivityOptions = {
      taskQueue: TASK_QUEUES[queue],
      startToCloseTimeout: queue === 'cpu' ? '5 minutes' : BATCH_LIMIT,
      heartbeatTimeout: '5s',
    };
    const { executeWithOptions } = proxyActivities<ActivityInterfaceFor<Activities>>(options)[name] as {
      executeWithOptions(options: ActivityOptions, args: unknown[]): Promise<unknown>;
    };
    /** @param step set if the call belongs to a step, which can be skipped */
    return async (input: object, step?: string): Promise<unknown> => {
      const isShard = 'shard' in input;
      const execute = ({ maxAttempts: limit = Infinity, ...destination }: Destination = {}) => {
        const attempts = Math.min(maxAttempts?.() ?? Infinity, limit);
        const retry = { ...RETRY, maximumAttempts: attempts + (isShard ? MAX_DECLINES : 0) };
        return executeWithOptions({ ...options, ...destination, retry, summary: summaryOf(input, step) }, [input]);
      };
      for (;;) {
        try {
          const isClaimed = queue === 'gpu' && modelWorker && !isShard; // any worker may take a shard
          return await (isClaimed ? modelWorker.run(execute) : execute());
        } catch (error) {
          if (isCancellation(error) || decide === undefined) throw error;
          const failure = describeFailure(error, step !== undefined);
          const decision = await decide(failure);
          if (decision === 'abort') throw error;
          if (decision === 'skip') throw new StepSkipped(`${name}: ${failure.message}`);
        }
      }
    };
  };
  const names = Object.keys(QUEUES) as (keyof Activities)[];
  return Object.fromEntries(names.map((name) => [name, createProxy(name)])) as unknown as Activities;
}
