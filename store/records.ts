// The records of a run (manifest, metrics, result …). Each has its digest in a file of its own under digests/, because a
// changed digit of a number is still JSON and a deleted file leaves no trace. A kill at any point leaves a digest file
// that matches the record: a new record is written first; before a record is replaced, the digest file names both.
import { setTimeout as sleep } from 'node:timers/promises';
import { GauntletError } from '../core/base/errors.js';
import { digestBytes } from './canonicalJson.js';
import type { Digest, Store } from './store.js';

export const DIGESTS = 'digests';
const RETRIES = { times: 4, ms: 25 }; // a reader may come between the writes of a record and its digest

/** Writes `path` of a run. Writing the same bytes again changes nothing. */
export async function writeRecord(store: Store, runId: string, path: string, text: string): Promise<void> {
  const digest = digestBytes(text);
  if (await store.createRunFile(runId, path, text)) return nameDigests(store, runId, path, [digest]);
  const [bytes, named] = await Promise.all([
    store.readRunFile(runId, path),
    readDigests(store, runId, path).catch(() => undefined),
  ]);
  const present = bytes && digestBytes(bytes);
  if (present !== digest) {
    // the digest of a damaged record is not named: it would make the record valid
    const before = present !== undefined && (named === undefined || named.includes(present)) ? [present] : [];
    await nameDigests(store, runId, path, [digest, ...before]);
    await store.writeRunFile(runId, path, text);
    if (before.length === 0) return;
  } else if (named?.length === 1 && named[0] === digest) return;
  await nameDigests(store, runId, path, [digest]);
}

/**
 * Writes a record unless there is one; of several writers exactly one gets true. If the writer of the present record
 * was killed before it wrote the digest, the digest is written now.
 */
export async function createRecord(store: Store, runId: string, path: string, text: string): Promise<boolean> {
  const created = await store.createRunFile(runId, path, text);
  const bytes = created ? text : await store.readRunFile(runId, path);
  if (bytes !== undefined && (created || (await readDigests(store, runId, path)) === undefined))
    await nameDigests(store, runId, path, [digestBytes(bytes)]);
  return created;
}

/** Reads a record. Undefined if there is none and never was one. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export async function readRecord(store: Store, runId: string, path: string): Promise<Uint8Array | undefined> {
  for (let attempt = 1; ; attempt++) {
    const { bytes, problem } = await checkRecord(store, runId, path);
    if (problem === undefined) return bytes;
    if (attempt >= RETRIES.times)
      throw new GauntletError('CORRUPT_ARTIFACT', `${problem.path} of run ${runId} ${problem.what}`);
    await sleep(RETRIES.ms);
  }
}

/** Lists the records in a folder ('' for all): existing records, and missing records that have a digest. */
export async function listRecords(store: Store, runId: string, folder: string): Promise<string[]> {
  const present = (await store.listRunFiles(runId, folder)).filter((path) => !path.startsWith(`${DIGESTS}/`));
  const digests = await store.listRunFiles(runId, folder === '' ? DIGESTS : `${DIGESTS}/${folder}`);
  const named = digests.map((path) => path.slice(DIGESTS.length + 1));
  return [...new Set([...present, ...named])].sort();
}

export interface CheckedRecord {
  bytes: Uint8Array | undefined;
  hasDigest: boolean; // a record without one is valid: its writer may have been killed
  problem?: { path: string; what: string }; // the damaged or missing file
}

export async function checkRecord(store: Store, runId: string, path: string): Promise<CheckedRecord> {
  const bytes = await store.readRunFile(runId, path);
  try {
    const named = await readDigests(store, runId, path);
    const checked = { bytes, hasDigest: named !== undefined };
    if (named === undefined || (bytes !== undefined && named.includes(digestBytes(bytes)))) return checked;
    const what = bytes ? `is damaged (not ${named[0]})` : `is missing (${DIGESTS}/${path} names it)`;
    return { ...checked, problem: { path, what } };
  } catch (error) {
    if (!(error instanceof GauntletError) || error.code !== 'CORRUPT_ARTIFACT') throw error;
    return { bytes, hasDigest: true, problem: { path: `${DIGESTS}/${path}`, what: 'is damaged' } };
  }
}

const nameDigests = (store: Store, runId: string, path: string, digests: readonly Digest[]): Promise<void> =>
  store.writeRunFile(runId, `${DIGESTS}/${path}`, digestLine(runId, path, digests));

/** Reads the digests of a record. Undefined if the file does not exist. @throws GauntletError CORRUPT_ARTIFACT */
async function readDigests(store: Store, runId: string, path: string): Promise<Digest[] | undefined> {
  const bytes = await store.readRunFile(runId, `${DIGESTS}/${path}`);
  if (bytes === undefined) return undefined;
  const text = Buffer.from(bytes).toString('utf8');
  const digests = text.split(' ').slice(0, -1);
  if (digests.length > 0 && text === digestLine(runId, path, digests)) return digests;
  throw new GauntletError('CORRUPT_ARTIFACT', `${DIGESTS}/${path} of run ${runId} is damaged`);
}

/** The digests and a checksum that covers them, the run and the path. */
function digestLine(runId: string, path: string, digests: readonly Digest[]): string {
  const body = digests.join(' ');
  return `${body} ${digestBytes(`record ${runId} ${path} ${body}`).slice(7, 23)}\n`;
}
