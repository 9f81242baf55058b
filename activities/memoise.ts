// Wraps activities for Temporal and the in-process driver.
import { keyInputs } from '../chains/memoKey.js';
import type { Deps, Scope } from '../chains/scope.js';
import type { GauntletError } from '../core/errors.js';
import type { EnvironmentPart } from '../core/schema/environment.js';
import type { Timed } from '../method/types.js';
import { memoised as storeMemoised } from '../store/memo.js';
import type { Store } from '../store/store.js';
import { environmentCheck } from './environment.js';
import { toFailure } from './failures.js';
import { type ArtifactProducers, withRecomputation } from './recompute.js';
import { attemptScope, currentContext } from './scope.js';

/** The activities that these functions wrap can recompute each other's lost artifacts. */
export function activityWrappers(deps: Deps) {
  const producers: ArtifactProducers = new Map();
  const enter = environmentCheck(deps);

  /**
   * Identified by the digest of name, version and inputs: a retry, a reset, a duplicate attempt or a second run of the
   * same configuration reuses the first result. `seconds` is the time of the computation; it is stored outside of the
   * output's digest. `part` is the environment that the activity needs: that of the run, or an accepted one. The facts of
   * the sandbox belong to the inputs, since another Python may judge a program differently.
   */
  function memoised<I, O extends object>(
    name: string,
    version: number,
    run: (scope: Scope, input: I) => Promise<O>,
    part?: EnvironmentPart,
  ): (input: I) => Promise<Timed<O>> {
    const onDamage = ({ message }: GauntletError): void => deps.log?.warn({ activity: name }, message);
    const call = async (input: I): Promise<Timed<O>> => {
      const facts = part && (await enter(input, part));
      const inputs = { ...keyInputs(input), ...(facts && part === 'sandbox' && { environment: facts }) };
      const scope = attemptScope(deps);
      const context = { store: deps.store, name, version, onDamage, earlierSeconds: () => scope.earlierSeconds };
      const compute = (store: Store) => {
        scope.store = store;
        return withRecomputation(deps, producers, input, () => run(scope, input));
      };
      const { output, seconds } = await storeMemoised(context, inputs, compute);
      const failedAttempts = part === 'sandbox' ? (currentContext()?.info.attempt ?? 1) - 1 : 0;
      return { ...output, seconds, ...(failedAttempts > 0 && { failedAttempts }) };
    };
    producers.set(name, { version, call: call as (input: unknown) => Promise<unknown> });
    return activity(call);
  }

  /** Runs on every call, see `effect` (method/activities.ts). */
  function unmemoised<I, O extends object>(
    name: string,
    run: (scope: Scope, input: I) => Promise<O>,
    part?: EnvironmentPart,
  ): (input: I) => Promise<O> {
    const call = async (input: I): Promise<O> => {
      if (part) await enter(input, part);
      return run(attemptScope(deps), input);
    };
    producers.set(name, { version: 0, call: call as (input: unknown) => Promise<unknown> });
    return activity((input) => withRecomputation(deps, producers, input, () => call(input)));
  }

  return { memoised, unmemoised };
}

/** Takes inputs as Temporal delivers them, so that the in-process driver has the same memo keys. Throws Temporal failures. */
function activity<I, O>(call: (input: I) => Promise<O>): (input: I) => Promise<O> {
  return async (input) => {
    const signal = currentContext()?.cancellationSignal;
    try {
      return await call(JSON.parse(JSON.stringify(input)) as I);
    } catch (error) {
      throw toFailure(error, signal);
    }
  };
}
