// Every activity is memoised by the digest of (name, its declared version, inputs): a retry, a reset, a zombie twin or
// a second run of the same configuration fast-forwards to the result that was computed first.
import { memoKey, memoised as storeMemoised } from '../store/memo.js';
import type { Digest, Store } from '../store/store.js';
import { toFailure } from './failures.js';
import { type ActivityDeps, openScope, type Scope } from './scope.js';
import type { BaseRef, RunRef, Timed } from './types.js';

export interface ActivitySpec<I, O extends object> {
  name: string;
  /** Raised whenever the same inputs give another output; a golden test notices when that was forgotten. */
  version: number;
  run(scope: Scope, input: I): Promise<O>;
}

/** An activity as Temporal and the in-process driver call it: coded failures out, seconds beside the result. */
export function memoised<I, O extends object>(deps: ActivityDeps, { name, version, run }: ActivitySpec<I, O>) {
  return async (given: I): Promise<Timed<O>> => {
    const { store } = deps;
    const input = asJson(given);
    const inputs = keyInputs(input);
    const scope = openScope(deps, memoKey(name, version, inputs));
    const timeKey = memoKey(`${name}:seconds`, version, inputs);
    // The time lies beside the output, under a key of its own: an output computed again has the same digest.
    const compute = async (): Promise<O> => {
      const started = performance.now();
      const output = await run(scope, input);
      const seconds = (performance.now() - started) / 1000;
      await store.putMemo(timeKey, await store.putJson({ seconds }));
      return output;
    };
    try {
      let hit = false;
      const onHit = (): void => {
        hit = true;
      };
      const output = await storeMemoised({ store, name, version, onHit }, inputs, compute);
      if (hit && !(await allPresent(store, output))) await compute(); // puts the missing artifacts back
      return { ...output, seconds: await secondsAt(store, timeKey) };
    } catch (error) {
      throw toFailure(error, scope.signal);
    }
  };
}

/** An activity whose effect is a file of the run: done again on every call, with the same failures. */
export function repeated<I, O extends object>(deps: ActivityDeps, run: (scope: Scope, input: I) => Promise<O>) {
  return async (input: I): Promise<O> => {
    const scope = openScope(deps, '');
    try {
      return await run(scope, asJson(input));
    } catch (error) {
      throw toFailure(error, scope.signal);
    }
  };
}

/** Inputs as Temporal would deliver them, so that the in-process driver shares its memo table. */
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** What a run computes hangs on its digests, not on its id, nor on where its models lie and what they run on. */
function keyInputs(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !('run' in input)) return input;
  const { bases, config, problems } = input.run as RunRef;
  const [generator, discriminator] = [identityOf(bases.generator), identityOf(bases.discriminator)];
  return { ...input, run: { bases: { generator, discriminator }, config, problems } };
}

const identityOf = ({ modelDigest, adapterConfig }: BaseRef): Omit<BaseRef, 'model'> => ({
  modelDigest,
  adapterConfig,
});

/** 0 where the record of the time is lost: it is for people only. */
async function secondsAt(store: Store, key: string): Promise<number> {
  const digest = await store.getMemo(key);
  if (digest === undefined || !(await store.hasBlob(digest))) return 0;
  return (await store.getJson<{ seconds: number }>(digest)).seconds;
}

async function allPresent(store: Store, output: unknown): Promise<boolean> {
  for (const digest of digestsIn(output)) if (!(await store.hasBlob(digest))) return false;
  return true;
}

function digestsIn(value: unknown): Digest[] {
  if (typeof value === 'string') return /^sha256:[0-9a-f]{64}$/.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(digestsIn);
}
