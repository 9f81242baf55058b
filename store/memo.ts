// A result is computed once: an activity that is retried, reset or run by a zombie twin fast-forwards to the digest
// of its first result. The key holds a version that its owner raises whenever the output would change. Beside the row
// lies a record of what was computed from what: it tells a lost row, and whoever lost a result how to compute it again.
import { z } from 'zod';
import { GauntletError } from '../core/errors.js';
import { canonicalJson, digestJson } from './canonicalJson.js';
import { digestsIn } from './references.js';
import type { Digest, Store } from './store.js';

/** 64 hex digits: SHA-256 of the canonical JSON of (name, version, inputs). */
export function memoKey(name: string, version: number, inputs: unknown): string {
  return digestJson({ name, version, inputs }).slice('sha256:'.length);
}

const RECORD = '.inputs';
const PROGRESS = '.progress-';

/** The row of a row's record. */
export const recordKey = (key: string): string => `${key}${RECORD}`;
/** The row of what an unfinished computation has saved after `done` parts. */
export const progressKey = (key: string, done: number): string => `${key}${PROGRESS}${done}`;

/** What a row's name says: whose record or progress it is. */
export function kindOfRow(key: string): { kind: 'result' | 'record' | 'progress'; of: string } {
  if (key.endsWith(RECORD)) return { kind: 'record', of: key.slice(0, -RECORD.length) };
  const at = key.lastIndexOf(PROGRESS);
  return at > 0 ? { kind: 'progress', of: key.slice(0, at) } : { kind: 'result', of: key };
}

export const memoRecordSchema = z.strictObject({
  name: z.string(),
  version: z.int(),
  inputs: z.unknown(),
  seconds: z.number().nonnegative(), // that the computation took; 0 where that is no longer known
});
export type MemoRecord = z.infer<typeof memoRecordSchema>;

export interface MemoContext {
  store: Store;
  name: string;
  version: number;
  /** Hears of damage that was moved aside, before what was lost is computed again. */
  onDamage?: (error: GauntletError) => void;
  /** Asked once it is computed: what earlier attempts spent on parts that were not computed again. */
  earlierSeconds?: () => number;
}

export interface Memoised<T> {
  output: T;
  seconds: number; // of the computation, whenever that was
}

/**
 * The output of `compute` for these inputs, by way of the store. The output is small JSON (digests and figures; large
 * data goes into blobs of its own). First run and fast-forward return equal values: what JSON carries. What is lost or
 * damaged (the row, its result, an artifact that the result names) is computed again.
 */
export async function memoised<T>(
  context: MemoContext,
  inputs: unknown,
  compute: () => Promise<T>,
): Promise<Memoised<T>> {
  const { store, name, version } = context;
  const key = memoKey(name, version, inputs);
  const known = await readRow<T>(context, key);
  if (known !== undefined) {
    if (!(await allPresent(store, known))) await compute();
    const seconds = await secondsOf(context, key);
    if (seconds === undefined) await writeRecord(store, key, { name, version, inputs, seconds: 0 });
    return { output: known, seconds: seconds ?? 0 };
  }
  const started = performance.now();
  const output = await compute();
  const took = (performance.now() - started) / 1000 + (context.earlierSeconds?.() ?? 0);
  const [isFirst, own] = await Promise.all([
    writeRecord(store, key, { name, version, inputs, seconds: took }),
    store.putJson(output),
  ]);
  const first = await store.putMemo(key, own, 'recorded');
  const seconds = isFirst ? took : ((await secondsOf(context, key)) ?? 0);
  if (first === own) return { output: JSON.parse(canonicalJson(output)) as T, seconds };
  if (await store.hasBlob(first)) return { output: await store.getJson<T>(first), seconds };
  throw new GauntletError(
    'CORRUPT_ARTIFACT',
    `memo ${key} (${name}) names the missing artifact ${first}, and a new computation gave ${own}`,
  );
}

/** What was computed from what, for the row of this key. */
export async function readRecord(store: Store, key: string): Promise<MemoRecord | undefined> {
  const digest = await store.getMemo(recordKey(key));
  if (digest === undefined || !(await store.hasBlob(digest))) return undefined;
  const parsed = memoRecordSchema.safeParse(await store.getJson(digest));
  return parsed.success ? parsed.data : undefined;
}

/** Lost and damaged are the same here: the answer is undefined. */
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
    const digest = await store.getMemo(key);
    return digest !== undefined && (await store.hasBlob(digest)) ? store.getJson<T>(digest) : undefined;
  }, onDamage);
}

/** Undefined where the record is lost. */
async function secondsOf({ store, onDamage }: MemoContext, key: string): Promise<number | undefined> {
  return (await unlessLost(() => readRecord(store, key), onDamage))?.seconds;
}

/** Whether there was none. */
async function writeRecord(store: Store, key: string, record: MemoRecord): Promise<boolean> {
  const digest = await store.putJson(record);
  return (await store.putMemo(recordKey(key), digest)) === digest;
}

async function allPresent(store: Store, output: unknown): Promise<boolean> {
  const present: boolean[] = [];
  for (const digest of new Set<Digest>(digestsIn(output))) present.push(await store.hasBlob(digest)); // each counts as used
  return present.every(Boolean);
}
