// Calls of activities over Temporal: task queues, time limits, retries, and what happens after a failure that no retry fixes.
import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  isCancellation,
  scheduleActivity,
  TemporalFailure,
} from '@temporalio/workflow';
import { NO_USAGE } from '../core/budget.js';
import type { Decision } from '../core/control.js';
import { MAX_DECLINES, TASK_QUEUES } from '../core/queues.js';
import type { RunFailure } from '../core/schema/run.js';
import { ACTIVITIES, type Call, type Input, type Name, type Output } from '../method/activities.js';
import type { Destination, ModelWorker } from './modelWorker.js';

// Infrastructure faults are retried for as long as they last. Faults of input or logic are marked non-retryable.
const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

// A batch starts from its beginning after a timeout, so a limit below its duration would never let it end. A batch of a
// large model on a CPU takes hours. So do dozens of programs that sleep up to their wall-clock limit.
const BATCH_LIMIT = '12 hours';

export interface CallSettings {
  /** Attempts of an activity that meets an infrastructure fault; null or absent: without limit. */
  maxAttempts?(): number | null;
  /** Called if an activity failed and no retry can fix it. Absent: the failure ends the workflow. */
  decide?(failure: RunFailure): Promise<Decision>;
  /** Absent: any model worker takes any of the work. */
  modelWorker?: ModelWorker;
}

/** @param step the label of the step that the calls belong to: the Web UI shows it, and a person may skip the step */
export function temporalCall({ maxAttempts, decide, modelWorker }: CallSettings = {}, step?: string): Call {
  return <N extends Name>(name: N, input: Input<N>): Promise<Output<N>> => {
    const { queue, priority } = ACTIVITIES[name];
    const isShard = 'shard' in input; // any worker may take it
    const options: ActivityOptions = {
      taskQueue: TASK_QUEUES[queue],
      startToCloseTimeout: queue === 'cpu' ? '5 minutes' : BATCH_LIMIT,
      heartbeatTimeout: '5s',
      summary: summaryOf(input, step),
      ...(priority !== undefined && { priority: { priorityKey: priority } }),
    };
    const execute = ({ maxAttempts: limit = Infinity, ...destination }: Destination = {}): Promise<Output<N>> => {
      const attempts = Math.min(maxAttempts?.() ?? Infinity, limit);
      const retry = { ...RETRY, maximumAttempts: attempts + (isShard ? MAX_DECLINES : 0) };
      return scheduleActivity<Output<N>>(name, [input], { ...options, ...destination, retry });
    };
    const attempt = () => (queue === 'gpu' && modelWorker && !isShard ? modelWorker.run(execute) : execute());
    return untilDecided(name, attempt, decide, step !== undefined);
  };
}

/** Attempts a call until it succeeds. After a failure that no retry fixes, `decide` says what happens. */
export async function untilDecided<T>(
  name: Name,
  attempt: () => Promise<T>,
  decide: CallSettings['decide'],
  inStep: boolean,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (isCancellation(error) || decide === undefined) throw error;
      const failure = { ...describeFailure(error, inStep), activity: name };
      const decision = await decide(failure);
      if (decision === 'abort') throw error;
      if (decision === 'skip') throw new StepSkipped(`${name}: ${failure.message}`);
    }
  }
}

/** The fields of inputs that say what an activity is for. */
interface SummaryFields {
  split?: string;
  target?: { split: string; checkpoint: string | { stage: number; epoch: number } };
  metrics?: { kind: string; step: number };
}

/** One line for an activity in the timeline of the Web UI, beside its name. */
export function summaryOf(input: object, step?: string): string | undefined {
  const { split, target, metrics } = input as SummaryFields;
  const checkpoint = target?.checkpoint;
  const parts = [
    step,
    (split ?? target?.split) && `${split ?? target?.split} split`,
    checkpoint &&
      (typeof checkpoint === 'string' ? checkpoint : `stage ${checkpoint.stage}, epoch ${checkpoint.epoch}`),
    metrics && `${metrics.kind} at step ${metrics.step}`,
  ];
  return parts.filter(Boolean).join(' · ') || undefined;
}

/** A person decided to skip the current step: nothing that it computed is kept. */
export class StepSkipped extends Error {
  spent = NO_USAGE; // by the step, so far

  constructor(readonly reason: string) {
    super(`step skipped: ${reason}`);
  }
}

/** The failure at the root of an activity failure. */
function rootCause(error: unknown): unknown {
  let root = error;
  while (root instanceof TemporalFailure && !(root instanceof ApplicationFailure) && root.cause) root = root.cause;
  return root;
}

/** What failed, with the code and the message of the root cause. */
export function describeFailure(error: unknown, inStep = false): RunFailure {
  const activity = error instanceof ActivityFailure ? error.activityType : 'workflow';
  const root = rootCause(error) as Error;
  const code = root instanceof ApplicationFailure ? root.type : root.name;
  return { activity, code: code ?? 'Error', message: root.message, inStep };
}

/** Makes the root cause the failure of the workflow itself, so that the first line of the failure says what went wrong. */
export function unwrapFailure(error: unknown): unknown {
  const root = rootCause(error);
  if (isCancellation(error) || root === error || !(root instanceof ApplicationFailure)) return error;
  const { message, type } = root;
  return ApplicationFailure.create({ message, type: type ?? undefined, nonRetryable: true, cause: error as Error });
}
