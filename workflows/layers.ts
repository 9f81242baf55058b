// The layers around the call of an activity in a workflow. `temporalCall` and `shared` nest them in this order:
//
//   metered    adds up what the calls of a step use
//   shared     splits the work over several workers, if the run has shards
//   decided    asks a person after a failure that no retry fixes
//   sticky     keeps the model work of a run on one worker
//   scheduled  sets task queue, time limits, retries, and what the Web UI shows
import { type ActivityOptions, isCancellation, scheduleActivity } from '@temporalio/workflow';
import { compose } from '../core/base/compose.js';
import { addUsage, NO_USAGE, type SandboxAttempts, usageOf } from '../core/run/budget.js';
import type { Decision } from '../core/run/control.js';
import { type Shard, shardsOf } from '../core/run/shards.js';
import type { RunConfig } from '../core/schema/config.js';
import type { RunFailure } from '../core/schema/run.js';
import { MAX_DECLINES, TASK_QUEUES } from '../core/temporal/queues.js';
import type { Activity, Call } from '../method/activity.js';
import { describeFailure, StepSkipped } from './failures.js';
import type { Destination, ModelWorker } from './modelWorker.js';

/** The next inner layer's call of an activity. With a destination, only that worker takes the activity. */
export type Next = <I, O>(activity: Activity<I, O>, input: I, destination?: Destination) => Promise<O>;
export type Layer = (next: Next) => Next;

/** Adds up what the calls of a step have used so far. */
export class Meter {
  used = NO_USAGE;
  generationSeconds = 0; // time of the activities that sample tokens
  private attempts = 0; // attempts to use the sandbox
  private failed = 0; // how many of these attempts failed

  /** Undefined if no attempt failed. */
  get sandboxFaultRate(): number | undefined {
    return this.failed === 0 ? undefined : this.failed / this.attempts;
  }

  add(output: object): void {
    const usage = usageOf(output);
    this.used = addUsage(this.used, usage);
    if ('executions' in output) {
      const { failedAttempts = 0 } = output as SandboxAttempts;
      this.attempts += 1 + failedAttempts;
      this.failed += failedAttempts;
    }
    if (usage.tokens > 0) this.generationSeconds += usage.seconds;
  }
}

export const metered =
  (meter: Meter): Layer =>
  (next) =>
  async (activity, input, destination) => {
    try {
      const output = await next(activity, input, destination);
      meter.add(output as object);
      return output;
    } catch (error) {
      if (error instanceof StepSkipped) error.spent = meter.used;
      throw error;
    }
  };

/** Runs the calls at the same time. */
export type RunShards = <T>(calls: (() => Promise<T>)[]) => Promise<T[]>;

/**
 * Shards run as activities of their own, on whichever workers are free. Then the ordinary activity joins what they stored, and
 * computes what is missing. So the results are those of one worker, bit for bit, whatever happens to the workers.
 */
export function shared(count: number, together: RunShards, ppo?: RunConfig['ppo']): Layer {
  const shards = shardsOf(count);
  const perShard = <T>(work: (shard: Shard) => Promise<T>): Promise<T[]> =>
    together(shards.map((shard) => () => work(shard)));
  return (next) => {
    if (shards.length === 1) return next;
    const call: Next = (activity, input, destination) => {
      const again = (own: typeof input) => next(activity, own);
      if (activity.share) return activity.share({ call: next, again, ppo, shards, perShard }, input);
      return activity.sharesParts ? activity.run!(call, input) : next(activity, input, destination);
    };
    return call;
  };
}

/** @param isStep whether the calls belong to a step, which a person may skip */
export const decided =
  (decide: (failure: RunFailure) => Promise<Decision>, isStep: boolean): Layer =>
  (next) =>
  async (activity, input, destination) => {
    for (;;) {
      try {
        return await next(activity, input, destination);
      } catch (error) {
        if (isCancellation(error)) throw error;
        const { name } = activity;
        const failure = { ...describeFailure(error, isStep), activity: name };
        const decision = await decide(failure);
        if (decision === 'abort') throw error;
        if (decision === 'skip') throw new StepSkipped(`${name}: ${failure.message}`);
      }
    }
  };

const sticky =
  (worker: ModelWorker): Layer =>
  (next) =>
  (activity, input) => {
    const isBound = activity.queue === 'gpu' && !activity.isShard?.(input);
    return isBound ? worker.run((destination) => next(activity, input, destination)) : next(activity, input);
  };

// Infrastructure faults are retried for as long as they last. Faults of input or logic are marked non-retryable.
const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

// A batch starts from its beginning after a timeout, so a limit below its duration would never let it end. A batch of a
// large model on a CPU takes hours. So do dozens of programs that sleep up to their wall-clock limit.
const BATCH_LIMIT = '12 hours';

const scheduled =
  ({ maxAttempts }: CallSettings, step?: string): Next =>
  (activity, input, { maxAttempts: most = Infinity, ...destination } = {}) => {
    const { name, queue, priority } = activity;
    const attempts = Math.min(maxAttempts?.() ?? Infinity, most);
    const options: ActivityOptions = {
      taskQueue: TASK_QUEUES[queue],
      startToCloseTimeout: queue === 'cpu' ? '5 minutes' : BATCH_LIMIT,
      heartbeatTimeout: '5s',
      summary: [step, activity.summary?.(input)].filter(Boolean).join(' · ') || undefined,
      ...(priority !== undefined && { priority: { priorityKey: priority } }),
      retry: { ...RETRY, maximumAttempts: attempts + (activity.isShard?.(input) ? MAX_DECLINES : 0) },
      ...destination,
    };
    return scheduleActivity(name, [input], options);
  };

export interface CallSettings {
  /** How often an activity with an infrastructure fault is tried; null or absent: without limit. */
  maxAttempts?(): number | null;
  /** Called if an activity failed and no retry can fix it. Absent: the failure ends the workflow. */
  decide?(failure: RunFailure): Promise<Decision>;
  /** The worker that does the run's model work. Absent: any model worker does it. */
  modelWorker?: ModelWorker;
}

/** @param step the label of the step that the calls belong to: the Web UI shows it, and a person may skip the step */
export function temporalCall(settings: CallSettings = {}, step?: string): Call {
  const { decide, modelWorker } = settings;
  const layers = [
    ...(decide ? [decided(decide, step !== undefined)] : []),
    ...(modelWorker ? [sticky(modelWorker)] : []),
  ];
  return compose(...layers)(scheduled(settings, step));
}
