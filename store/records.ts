// The records of a run (manifest, metrics, result …), each with its digest in a file of its own under digests/: a
// flipped digit of a number is still JSON, and a deleted file leaves no hole. Whatever is killed in between, the digest
// file names the bytes that are there: the record goes first where there was none, and where it takes the place of
// another one the digest file names both until it has.
import { setTimeout as sleep } from 'node:timers/promises';
import { GauntletError } from '../core/errors.js';
import { digestBytes } from './canonicalJson.js';
import type { Digest, Store } from './store.js';

export const DIGESTS = 'digests';
const SETTLE = { times: 4, ms: 25 }; // a record and its digest are two files: a reader between the two looks again

/** Writes `path` of a run; the same bytes again touch nothing. */
export async function writeRecord(store: Store, runId: string, path: string, text: string): Promise<void> {
  const digest = digestBytes(text);
  const bytes = await store.readRunFile(runId, path);
  const present = bytes && digestBytes(bytes);
  const named = await readDigests(store, runId, path).catch(() => undefined);
  if (present === digest) {
    if (named?.length !== 1 || named[0] !== digest) await nameDigests(store, runId, path, [digest]);
    return;
  }
  // what was damaged before is not named: its digest would call it whole
  const before = present !== undefined && (named === undefined || named.includes(present)) ? [present] : [];
  if (bytes !== undefined || named !== undefined) await nameDigests(store, runId, path, [digest, ...before]);
  await store.writeRunFile(runId, path, text);
  if (before.length > 0 || named === undefined) await nameDigests(store, runId, path, [digest]);
}

/** The same for one that may be there already: of several writers exactly one gets true. */
export async function createRecord(store: Store, runId: string, path: string, text: string): Promise<boolean> {
  const created = await store.createRunFile(runId, path, text);
  if (created) await nameDigests(store, runId, path, [digestBytes(text)]);
  return created;
}

/** For one that was found whole by other means, whose writer was killed before it could name its digest. */
export async function sealRecord(store: Store, runId: string, path: string): Promise<void> {
  const bytes = await store.readRunFile(runId, path);
  if (bytes === undefined || (await readDigests(store, runId, path)) !== undefined) return;
  await nameDigests(store, runId, path, [digestBytes(bytes)]);
}

/** Undefined where there is none and never was. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export async function readRecord(store: Store, runId: string, path: string): Promise<Uint8Array | undefined> {
  for (let attempt = 1; ; attempt++) {
    const bytes = await store.readRunFile(runId, path);
    const problem = await problemOf(store, runId, path, bytes);
    if (problem === undefined) return bytes;
    if (attempt >= SETTLE.times)
      throw new GauntletError('CORRUPT_ARTIFACT', `${problem.of} of run ${runId} ${problem.is}`);
    await sleep(SETTLE.ms);
  }
}

/** Records below a folder: those that are there, and those that have a digest and should be. */
export async function listRecords(store: Store, runId: string, folder: string): Promise<string[]> {
  const there = await store.listRunFiles(runId, folder);
  const base = folder === '' ? DIGESTS : `${DIGESTS}/${folder}`;
  const named = (await store.listRunFiles(runId, base)).map((path) => path.slice(DIGESTS.length + 1));
  return [...new Set([...there.filter((path) => !path.startsWith(`${DIGESTS}/`)), ...named])].sort();
}

/** Paths that have a digest, whether the record is there or not. */
export async function namedRecords(store: Store, runId: string): Promise<string[]> {
  return (await store.listRunFiles(runId, DIGESTS)).map((path) => path.slice(DIGESTS.length + 1));
}

/** For one that is given up: its digest first, so that nothing speaks of a record that is not there. */
export async function removeRecord(store: Store, runId: string, path: string): Promise<void> {
  await store.removeRunFile(runId, `${DIGESTS}/${path}`);
  await store.removeRunFile(runId, path);
}

export interface RecordProblem {
  of: string; // the file that is wrong
  is: string;
}

/** Undefined: nothing speaks against the bytes. One without a digest passes: older runs have none. */
async function problemOf(
  store: Store,
  runId: string,
  path: string,
  bytes: Uint8Array | undefined,
): Promise<RecordProblem | undefined> {
  const of = `${DIGESTS}/${path}`;
  try {
    const named = await readDigests(store, runId, path);
    if (named === undefined) return undefined;
    if (bytes === undefined) return { of: path, is: `is missing (${of} names it)` };
    return named.includes(digestBytes(bytes)) ? undefined : { of: path, is: `is damaged (not ${named[0]})` };
  } catch (error) {
    if (error instanceof GauntletError && error.code === 'CORRUPT_ARTIFACT') return { of, is: 'is damaged' };
    throw error;
  }
}

/** What is wrong with a record, and whether it has a digest at all. */
export async function checkRecord(
  store: Store,
  runId: string,
  path: string,
): Promise<{ sealed: boolean; problem?: RecordProblem }> {
  const bytes = await store.readRunFile(runId, path);
  const problem = await problemOf(store, runId, path, bytes);
  const sealed = (await store.readRunFile(runId, `${DIGESTS}/${path}`)) !== undefined;
  return { sealed, ...(problem && { problem }) };
}

async function nameDigests(store: Store, runId: string, path: string, digests: readonly Digest[]): Promise<void> {
  await store.writeRunFile(runId, `${DIGESTS}/${path}`, digestLine(runId, path, digests));
}

/** Undefined where the file is not there. @throws GauntletError CORRUPT_ARTIFACT */
async function readDigests(store: Store, runId: string, path: string): Promise<Digest[] | undefined> {
  const bytes = await store.readRunFile(runId, `${DIGESTS}/${path}`);
  if (bytes === undefined) return undefined;
  const text = Buffer.from(bytes).toString('utf8');
  const digests = text.split(' ').slice(0, -1);
  if (digests.length > 0 && text === digestLine(runId, path, digests)) return digests;
  throw new GauntletError('CORRUPT_ARTIFACT', `${DIGESTS}/${path} of run ${runId} is damaged`);
}

/** The digests, and what ties them to their place. */
function digestLine(runId: string, path: string, digests: readonly Digest[]): string {
  const body = digests.join(' ');
  return `${body} ${digestBytes(`record ${runId} ${path} ${body}`).slice(7, 23)}\n`;
}
