// The activities over Temporal: task queues, time limits, retries, and what happens after a failure that no retry fixes.
import { type ActivityInterfaceFor, type ActivityOptions, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { Decision } from '../core/control.js';
import { TASK_QUEUES } from '../core/queues.js';
import type { RunFailure } from '../core/schema/run.js';
import { type CallOptions, describeFailure, StepSkipped } from './failures.js';
import type { ModelWorker } from './modelWorker.js';
import type { TrainingActivities } from './runState.js';
import { summaryOf } from './summaries.js';

type Name = keyof TrainingActivities;

// Infrastructure faults are retried for as long as they last. Faults of input or logic are marked non-retryable.
const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

// A batch starts from its beginning after a timeout, so a limit below its duration would never let it end. A batch of a
// large model on a CPU takes hours. So do dozens of programs that sleep up to their wall-clock limit.
const BATCH_LIMIT = '12 hours';

const options = (queue: 'gpu' | 'sandbox' | 'cpu', startToCloseTimeout: ActivityOptions['startToCloseTimeout']) => ({
  taskQueue: TASK_QUEUES[queue],
  startToCloseTimeout,
  heartbeatTimeout: '5s' as const,
});

const OPTIONS: Record<Name, ActivityOptions> = {
  prepareRun: options('gpu', '10 minutes'),
  prepareSolving: options('gpu', '10 minutes'),
  generateChains: options('gpu', BATCH_LIMIT),
  generateTests: options('gpu', BATCH_LIMIT),
  trainPolicy: options('gpu', BATCH_LIMIT),
  generateEvaluation: options('gpu', BATCH_LIMIT),
  quarantineProblems: options('sandbox', BATCH_LIMIT),
  executeSuite: options('sandbox', BATCH_LIMIT),
  judgeEvaluation: options('sandbox', BATCH_LIMIT),
  selectChains: options('sandbox', BATCH_LIMIT),
  reviseRun: options('cpu', '5 minutes'),
  recordMetrics: options('cpu', '5 minutes'),
  collectSolutions: options('cpu', '5 minutes'),
  renderReport: options('cpu', '5 minutes'),
};

export interface ProxyOptions {
  /** Attempts of an activity that meets an infrastructure fault; null or absent: without limit. */
  maxAttempts?(): number | null;
  /** Called if an activity failed and no retry can fix it. Absent: the failure ends the workflow. */
  decide?(failure: RunFailure): Promise<Decision>;
  /** Absent: any model worker takes any of the work. */
  modelWorker?: ModelWorker;
}

export function createActivityProxies({ maxAttempts, decide, modelWorker }: ProxyOptions = {}): TrainingActivities {
  const proxies = Object.entries(OPTIONS).map(([key, activityOptions]) => {
    const name = key as Name;
    const { executeWithOptions } = proxyActivities<ActivityInterfaceFor<TrainingActivities>>(activityOptions)[name] as {
      executeWithOptions(options: ActivityOptions, args: unknown[]): Promise<unknown>;
    };
    const execute = (input: object) => (destination: ActivityOptions) => {
      const retry = { ...RETRY, maximumAttempts: maxAttempts?.() ?? undefined };
      const summary = summaryOf(name, input);
      return executeWithOptions({ ...activityOptions, ...destination, retry, summary }, [input]);
    };
    const usesModel = activityOptions.taskQueue === TASK_QUEUES.gpu;
    const call = async (input: object, { isSkippable = false }: CallOptions = {}): Promise<unknown> => {
      for (;;) {
        try {
          return await (usesModel && modelWorker ? modelWorker.run(execute(input)) : execute(input)({}));
        } catch (error) {
          if (isCancellation(error) || decide === undefined) throw error;
          const failure = describeFailure(error, isSkippable);
          const decision = await decide(failure);
          if (decision === 'abort') throw error;
          if (decision === 'skip') throw new StepSkipped(`${name}: ${failure.message}`);
        }
      }
    };
    return [name, call];
  });
  return Object.fromEntries(proxies) as TrainingActivities;
}
