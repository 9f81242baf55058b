// Every activity is memoised by the digest of (name, its declared version, inputs): a retry, a reset, a zombie twin or
// a second run of the same configuration fast-forwards to the result that was computed first.
import type { GauntletError } from '../core/errors.js';
import { memoKey, memoised as storeMemoised } from '../store/memo.js';
import { toFailure } from './failures.js';
import { type ArtifactProducers, healing, identityOfRun, runOf } from './heal.js';
import { type ActivityDeps, openScope, type Scope } from './scope.js';
import type { Timed } from './types.js';

export interface ActivitySpec<I, O extends object> {
  name: string;
  /** Raised whenever the same inputs give another output; a golden test notices when that was forgotten. */
  version: number;
  run(scope: Scope, input: I): Promise<O>;
}

/**
 * An activity as Temporal and the in-process driver call it: coded failures out, seconds beside the result (they lie
 * beside it in the store too, so an output computed again has the same digest).
 */
export function memoised<I, O extends object>(
  deps: ActivityDeps,
  { name, version, run }: ActivitySpec<I, O>,
  producers: ArtifactProducers = new Map(),
) {
  const { store } = deps;
  const onDamage = ({ message }: GauntletError): void => deps.log?.warn({ activity: name }, message);
  const work = async (input: I, scope: Scope): Promise<Timed<O>> => {
    const context = { store, name, version, onDamage, earlierSeconds: () => scope.earlierSeconds };
    const computed = () => healing(deps, producers, input, () => run(scope, input));
    const { output, seconds } = await storeMemoised(context, keyInputs(input), computed);
    return { ...output, seconds };
  };
  const scopeOf = (input: I): Scope => openScope(deps, memoKey(name, version, keyInputs(input)));
  producers.set(name, { version, call: (input) => work(input as I, scopeOf(input as I)) });
  return (given: I): Promise<Timed<O>> => {
    const input = asJson(given);
    const scope = scopeOf(input);
    return failing(scope, () => work(input, scope));
  };
}

/** An activity whose effect is a file of the run: done again on every call, with the same failures. */
export function unmemoised<I, O extends object>(
  deps: ActivityDeps,
  run: (scope: Scope, input: I) => Promise<O>,
  producers: ArtifactProducers = new Map(),
) {
  const call = async (input: unknown): Promise<O> => run(openScope(deps, ''), input as I);
  producers.set(run.name, { version: 0, call });
  return (given: I): Promise<O> => {
    const input = asJson(given);
    const scope = openScope(deps, '');
    return failing(scope, () => healing(deps, producers, input, () => run(scope, input)));
  };
}

async function failing<O>({ signal }: Scope, work: () => Promise<O>): Promise<O> {
  try {
    return await work();
  } catch (error) {
    throw toFailure(error, signal);
  }
}

/** Inputs as Temporal would deliver them, so that the in-process driver shares its memo table. */
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

function keyInputs(input: unknown): unknown {
  const run = runOf(input);
  return run === undefined ? input : { ...(input as object), run: identityOfRun(run) };
}
