// An activity is a value: a workflow calls it, and a worker finds its code. `effect`, `result` and `sequence` declare one. The
// other files of this folder declare all activities, with the types of their inputs and outputs.
import type { Ref } from '../core/base/ref.js';
import type { Shard } from '../core/run/shards.js';
import type { RunConfig } from '../core/schema/config.js';
import type { EnvironmentPart } from '../core/schema/environment.js';

/** Which workers run an activity: those with a model, those with a sandbox, or any. */
export type Queue = 'gpu' | 'sandbox' | 'cpu';

export interface Plan<I, O> {
  queue: Queue;
  /** The part of a worker's environment that is first compared with the run's records (activities/environment.ts). */
  needs?: EnvironmentPart;
  /** From 1 to 5; default 3. Among the waiting activities, those with the lowest number start first. */
  priority?: number;
  /** The line that the timeline of the Web UI shows beside the name. */
  summary?(input: I): string;
  /** True if the input asks for one shard of a batch. Any free worker takes it, not only the worker that the run claimed. */
  isShard?(input: I): boolean;
  /** How several workers share the work. Without this and `sharesParts`, one worker does all of it. */
  share?(sharing: Sharing<I, O>, input: I): Promise<O>;
  /** True for a sequence whose parts are shared. Then the workflow calls the parts itself. */
  sharesParts?: boolean;
}

export interface Activity<I, O> extends Plan<I, O> {
  /** The name of the activity, which histories and keys of stored results contain. */
  name: string;
  /** If set, the result is stored, and computed once for equal inputs. Raise the version if equal inputs give another output. */
  version?: number;
  /** Only for a sequence: calls its parts. A worker runs this function, or the workflow if several workers share the parts. */
  run?(call: Call, input: I): Promise<O>;
}

/** Calls an activity. */
export type Call = <I, O>(activity: Activity<I, O>, input: NoInfer<I>) => Promise<O>;

/** What an activity needs to share its work. */
export interface Sharing<I, O> {
  /** Calls the activity itself, on one worker. */
  again(input: I): Promise<O>;
  call: Call;
  ppo?: RunConfig['ppo'] | undefined; // set if the work trains
  shards: readonly Shard[];
  /** Runs the work of all shards at the same time. */
  perShard<T>(work: (shard: Shard) => Promise<T>): Promise<T[]>;
}

/** What one shard of a batch computed. */
export interface ShardResult<T> {
  part: Ref<T>;
  tokens: number; // how many were sampled
  seconds: number;
}

/** An output with the seconds of the attempt that computed it. The seconds are no part of a digested artifact. */
export type Timed<O> = O & { seconds: number };

/** Declares an activity that runs on every call: it writes a file of the run, or is as fast as the look-up of a result. */
export const effect = <I, O>(name: string, plan: Plan<I, O>): Activity<I, O> => ({ ...plan, name });

/** Declares an activity whose result is computed once and stored. `seconds` is the time of that computation. */
export const result = <I, O>(name: string, version: number, plan: Plan<I, Timed<O>>): Activity<I, Timed<O>> => ({
  ...plan,
  name,
  version,
});

/** Declares an activity that calls others, which store their results. So a retry repeats only unfinished work. */
export const sequence = <I, O>(
  name: string,
  plan: Plan<I, Timed<O>>,
  run: (call: Call, input: I) => Promise<Timed<O>>,
): Activity<I, Timed<O>> => ({ ...plan, name, run });
