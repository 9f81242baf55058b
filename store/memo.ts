// Computes each result once: an activity that is retried, reset or run twice at a time gets the first result. The key
// contains a version that is raised whenever the output would change. Beside each row is a record of name, version and
// inputs: it shows that a row was lost, and how to compute a lost result again.
import { z } from 'zod';
import { GauntletError } from '../core/base/errors.js';
import { canonicalJson, digestJson, hexOf } from './canonicalJson.js';
import { deferWrites } from './deferredWrites.js';
import { digestsIn } from './references.js';
import type { Digest, Ref, Store } from './store.js';

/** 64 hex digits: SHA-256 of the canonical JSON of (name, version, inputs). */
export const memoKey = (name: string, version: number, inputs: unknown): string =>
  hexOf(digestJson({ name, version, inputs }));

const RECORD = '.inputs';

/** The key of a row's record. */
export const recordKey = (key: string): string => `${key}${RECORD}`;

/** The kind of a row, and the key of the result that it belongs to. */
export function kindOfRow(key: string): { kind: 'result' | 'record'; of: string } {
  return key.endsWith(RECORD) ? { kind: 'record', of: key.slice(0, -RECORD.length) } : { kind: 'result', of: key };
}

export const memoRecordSchema = z.strictObject({
  name: z.string(),
  version: z.int(),
  inputs: z.unknown(),
  seconds: z.number().nonnegative(), // how long the computation took; 0 if that is not known any more
});
export type MemoRecord = z.infer<typeof memoRecordSchema>;

export interface MemoContext {
  store: Store;
  name: string;
  version: number;
  /** Called with the error of a damaged file, before its content is computed again. */
  onDamage?: (error: GauntletError) => void;
  /** After the computation: the seconds that earlier attempts spent on parts that were not computed again. */
  earlierSeconds?: () => number;
}

export interface Memoised<T> {
  output: T;
  seconds: number; // how long the first computation took
}

/**
 * The output of `compute` for these inputs, from the store if it was computed before. The output is small JSON; large data
 * goes into blobs of its own. What is lost or damaged (the row, its result, an artifact that the result names) is
 * computed again. `compute` gets a store whose writes it need not wait for.
 */
export async function memoised<T>(
  context: MemoContext,
  inputs: unknown,
  compute: (store: Store) => Promise<T>,
): Promise<Memoised<T>> {
  const { name, version } = context;
  const { store, written } = deferWrites(context.store);
  const run = async (): Promise<T> => {
    try {
      return await compute(store);
    } catch (error) {
      await written().catch(() => undefined); // let pending writes end before the error leaves
      throw error;
    }
  };
  const key = memoKey(name, version, inputs);
  const known = await readRow<T>(context, key);
  if (known !== undefined) {
    const [isWhole, seconds] = await Promise.all([allPresent(store, known), secondsOf(context, key)]);
    if (!isWhole) await run().then(written);
    if (seconds === undefined) await writeMemoRecord(store, key, { name, version, inputs, seconds: 0 });
    return { output: known, seconds: seconds ?? 0 };
  }
  const started = performance.now();
  const output = await run();
  const took = (performance.now() - started) / 1000 + (context.earlierSeconds?.() ?? 0);
  const [isFirst, own] = await Promise.all([
    writeMemoRecord(store, key, { name, version, inputs, seconds: took }),
    store.putJson(output),
  ]);
  const first: Ref<T> = await store.putMemo(key, own, 'recorded');
  const seconds = isFirst ? took : ((await secondsOf(context, key)) ?? 0);
  if (first === own) return { output: JSON.parse(canonicalJson(output)) as T, seconds };
  if (await store.hasBlob(first)) return { output: await store.getJson(first), seconds };
  throw new GauntletError(
    'CORRUPT_ARTIFACT',
    `memo ${key} (${name}) names the missing artifact ${first}, and a new computation gave ${own}`,
  );
}

/** Reads the record of the row with this key. */
export async function readMemoRecord(store: Store, key: string): Promise<MemoRecord | undefined> {
  const digest = await store.getMemo(recordKey(key));
  if (digest === undefined || !(await store.hasBlob(digest))) return undefined;
  const parsed = memoRecordSchema.safeParse(await store.getJson(digest));
  return parsed.success ? parsed.data : undefined;
}

/** Runs `work`. Undefined if an artifact or a row is missing or damaged. */
export async function unlessLost<T>(
  work: () => Promise<T>,
  onDamage?: (error: GauntletError) => void,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GauntletError)) throw error;
    if (error.code !== 'CORRUPT_ARTIFACT' && error.artifact === undefined) throw error;
    onDamage?.(error);
    return undefined;
  }
}

async function readRow<T>({ store, onDamage }: MemoContext, key: string): Promise<T | undefined> {
  return unlessLost(async () => {
    const output: Ref<T> | undefined = await store.getMemo(key);
    return output !== undefined && (await store.hasBlob(output)) ? store.getJson(output) : undefined;
  }, onDamage);
}

/** Reads how long the computation took. Undefined if the record is lost. */
async function secondsOf({ store, onDamage }: MemoContext, key: string): Promise<number | undefined> {
  return (await unlessLost(() => readMemoRecord(store, key), onDamage))?.seconds;
}

/** Returns false if there was a record already. */
async function writeMemoRecord(store: Store, key: string, record: MemoRecord): Promise<boolean> {
  const digest = await store.putJson(record);
  return (await store.putMemo(recordKey(key), digest)) === digest;
}

async function allPresent(store: Store, output: unknown): Promise<boolean> {
  const digests = [...new Set<Digest>(digestsIn(output))];
  return (await Promise.all(digests.map((digest) => store.hasBlob(digest)))).every(Boolean); // marks each as used
}
