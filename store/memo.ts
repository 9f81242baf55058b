// A result is computed once: an activity that is retried, reset or run by a zombie twin fast-forwards to the digest
// of its first result. The key holds a version that its owner raises whenever the output would change.
import { GauntletError } from '../core/errors.js';
import { canonicalJson, digestJson } from './canonicalJson.js';
import type { Store } from './store.js';

/** 64 hex digits: SHA-256 of the canonical JSON of (name, version, inputs). */
export function memoKey(name: string, version: number, inputs: unknown): string {
  return digestJson({ name, version, inputs }).slice('sha256:'.length);
}

export interface MemoContext {
  store: Store;
  name: string;
  version: number;
  onHit?: () => void; // called where a stored result is taken
}

/**
 * The output of `compute` for these inputs, by way of the store. The output is small JSON (digests and figures; large
 * data goes into blobs of its own). First run and fast-forward return equal values: what JSON carries.
 */
export async function memoised<T>(context: MemoContext, inputs: unknown, compute: () => Promise<T>): Promise<T> {
  const { store } = context;
  const key = memoKey(context.name, context.version, inputs);
  const known = await store.getMemo(key);
  if (known !== undefined && (await store.hasBlob(known))) {
    const output = await store.getJson<T>(known);
    context.onHit?.();
    return output;
  }
  const output = await compute();
  const own = await store.putJson(output);
  const first = await store.putMemo(key, own);
  if (first === own) return JSON.parse(canonicalJson(output)) as T;
  if (await store.hasBlob(first)) return store.getJson<T>(first);
  throw new GauntletError(
    'CORRUPT_ARTIFACT',
    `memo ${key} (${context.name}) names the missing artifact ${first}, and a new computation gave ${own}`,
  );
}
