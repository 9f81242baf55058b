// The layers around the function of an activity on a worker. `createActivities` nests them in this order:
//
//   beating          heartbeats at fixed times
//   inTurn           one model activity at a time
//   watched          an activity without progress fails, and its worker ends
//   delivered        inputs become JSON, and errors become failures of Temporal
//   healed           lost artifacts are computed again
//   sameEnvironment  the worker must have the environment of the run, or one that a person accepted
//   memoised         a result that is stored already is not computed again
//
// The first three need Temporal. With traces, the interceptor of workers/tracing.ts is around them.
import { keyInputs } from '../chains/memoKey.js';
import type { Deps, Scope } from '../chains/scope.js';
import { compose } from '../core/base/compose.js';
import type { GauntletError } from '../core/base/errors.js';
import type { Activity } from '../method/activity.js';
import { memoised as storeMemoised } from '../store/memo.js';
import type { Store } from '../store/store.js';
import { type Attempt, type Layer, openAttempt, type Work } from './attempt.js';
import { environmentCheck } from './environment.js';
import { toFailure } from './failures.js';
import { type ArtifactProducers, withRecomputation } from './recompute.js';

const SHORTEST_BEAT_MS = 200;

/**
 * A long call into the engine or the sandbox sends no heartbeats, and an activity learns of its cancellation only through
 * them. Other calls report progress many times a second: sending each report took a quarter of their own time.
 */
export const beating: Layer = (next) => async (attempt) => {
  const { scope, info } = attempt;
  if (!info?.heartbeatTimeoutMs) return next(attempt);
  let latest: unknown;
  const heartbeat = (details: unknown): void => {
    latest = details;
  };
  const timer = setInterval(() => scope.heartbeat(latest), Math.max(SHORTEST_BEAT_MS, info.heartbeatTimeoutMs / 5));
  try {
    return await next({ ...attempt, scope: { ...scope, heartbeat } });
  } finally {
    clearInterval(timer);
  }
};

interface ModelTurns {
  declineIfBusy(attempt: number): void;
  take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** A busy worker fails a shard, so that Temporal offers it to an idle one. */
export const inTurn =
  (turns: ModelTurns): Layer =>
  (next) =>
  async (attempt) => {
    const { activity, input, info, scope } = attempt;
    if (activity.isShard?.(input)) turns.declineIfBusy(info?.attempt ?? 1);
    return turns.take(() => next(attempt), scope.signal);
  };

export const watched =
  (watch: { watch(attempt: Attempt, next: Work): Promise<object> }): Layer =>
  (next) =>
  (attempt) =>
    watch.watch(attempt, next);

/** Converts inputs to JSON, so that results have the same keys with and without Temporal. */
export const delivered: Layer = (next) => async (attempt) => {
  try {
    return await next({ ...attempt, input: JSON.parse(JSON.stringify(attempt.input)) });
  } catch (error) {
    throw toFailure(error, attempt.scope.signal);
  }
};

const healed =
  (producers: ArtifactProducers): Layer =>
  (next) =>
  (attempt) =>
    withRecomputation(attempt.scope.deps, producers, attempt.input, () => next(attempt));

const sameEnvironment =
  (deps: Deps): Layer =>
  (next) => {
    const enter = environmentCheck(deps);
    return async (attempt) => {
      const { activity, input, info } = attempt;
      if (activity.needs === undefined) return next(attempt);
      return next({ ...attempt, facts: await enter(input, activity.needs, info?.workflowType) });
    };
  };

/**
 * A result is identified by name, version and inputs: a retry, a reset, a duplicate attempt or a second run of the same
 * configuration reuses the first one. The facts of the sandbox belong to the inputs, since another Python may judge a program
 * differently. `seconds` is the time of the computation; it is stored outside of the output's digest.
 */
const memoised: Layer = (next) => async (attempt) => {
  const { activity, input, scope, info, facts } = attempt;
  const { name, version, needs } = activity;
  if (version === undefined) return next(attempt);
  const { store, log } = scope.deps;
  const inputs = { ...keyInputs(input), ...(facts && needs === 'sandbox' && { environment: facts }) };
  const onDamage = ({ message }: GauntletError): void => log?.warn({ activity: name }, message);
  let earlier = 0;
  const context = { store, name, version, onDamage, earlierSeconds: () => earlier };
  const compute = async (own: Store): Promise<object> => {
    const { earlierSeconds = 0, ...result } = await next({ ...attempt, scope: { ...scope, store: own } });
    earlier = earlierSeconds;
    return result;
  };
  const { output, seconds } = await storeMemoised(context, inputs, compute);
  const failedAttempts = needs === 'sandbox' ? (info?.attempt ?? 1) - 1 : 0;
  return { ...output, seconds, ...(failedAttempts > 0 && { failedAttempts }) };
};

/** The function of an activity. `earlierSeconds` is the time that earlier attempts spent on parts which it reused. */
export type Implementation<I, O> = (
  scope: Scope,
  input: I,
) => Promise<Omit<O, 'seconds'> & { seconds?: number; earlierSeconds?: number }>;

/** Wraps the functions of activities in their layers. The activities can compute each other's lost artifacts again. */
export function openLeaves(deps: Deps) {
  const producers: ArtifactProducers = new Map();
  const kept = compose(sameEnvironment(deps), memoised);
  return <I, O>(activity: Activity<I, O>, run: Implementation<I, O>): Work => {
    const inner = kept(({ scope, input }) => run(scope, input as I));
    const work = healed(producers)(inner);
    const isStored = activity.version !== undefined;
    producers.set(activity.name, {
      version: activity.version ?? 0,
      call: (input) => (isStored ? work : inner)(openAttempt(deps, activity, input)),
    });
    return delivered(work);
  };
}
