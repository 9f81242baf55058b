// Every activity is memoised by the digest of (name, its declared version, inputs): a retry, a reset, a zombie twin or
// a second run of the same configuration fast-forwards to the result that was computed first.
import { memoKey, memoised as storeMemoised } from '../store/memo.js';
import type { Digest, Store } from '../store/store.js';
import { toFailure } from './failures.js';
import { type ActivityDeps, openScope, type Scope } from './scope.js';
import type { RunRef, Timed } from './types.js';

export interface ActivitySpec<I, O extends object> {
  name: string;
  /** Raised whenever the same inputs give another output; a golden test notices when that was forgotten. */
  version: number;
  run(scope: Scope, input: I): Promise<O>;
}

/** What the memo table holds. The time is beside the output: no artifact ever names this record by its digest. */
interface MemoRecord<O> {
  output: O;
  seconds: number;
}

/** An activity as Temporal and the in-process driver call it: coded failures out, seconds beside the result. */
export function memoised<I, O extends object>(deps: ActivityDeps, { name, version, run }: ActivitySpec<I, O>) {
  return async (given: I): Promise<Timed<O>> => {
    const { store } = deps;
    const input = asJson(given);
    const inputs = keyInputs(input);
    const scope = openScope(deps, memoKey(name, version, inputs));
    const compute = async (): Promise<MemoRecord<O>> => {
      const started = performance.now();
      const output = await run(scope, input);
      return { output, seconds: (performance.now() - started) / 1000 };
    };
    try {
      let hit = false;
      const onHit = (): void => {
        hit = true;
      };
      const record = await storeMemoised({ store, name, version, onHit }, inputs, compute);
      if (hit && !(await allPresent(store, record.output))) await compute(); // puts the missing artifacts back
      return { ...record.output, seconds: record.seconds };
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

/** What a run computes hangs on its digests, not on its id or on where its model lies. */
function keyInputs(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !('run' in input)) return input;
  const { modelDigest, config, problems, adapterConfig } = input.run as RunRef;
  return { ...input, run: { modelDigest, config, problems, adapterConfig } };
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
