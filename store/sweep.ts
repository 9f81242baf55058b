// Removes what nothing refers to any more. Kept, with all that they name: records of runs, checkpoints, and every memo
// row and artifact that was used since `keepFrom`. Rows are removed before artifacts, and a row without its artifact is
// computed again, so a sweep that is killed at any point leaves a store that works.
//
// Workers may run meanwhile. Whoever relies on an artifact touches it (ObjectStore.putBlob, hasBlob). A touch between the
// check and the removal is not lost: an object is first taken (moved into trash/), and its last use is checked again. If
// it was touched before it was taken, it goes back. A touch after that does not find it, and the writer either restores it
// from trash/ or writes it again; removing it from trash/ then does no harm.
import { GauntletError } from '../core/errors.js';
import { hexOf } from './canonicalJson.js';
import {
  bestCheckpoint,
  CHECKPOINTS,
  listCheckpoints,
  POINTERS,
  readPointer,
  removeCheckpoint,
} from './checkpoints.js';
import { inParallel } from './inParallel.js';
import { inspectBlob, inspectMemo, listBlobs, listFolder, listMemos, type StoredFile } from './inventory.js';
import { ASIDE, layout, RUNS, TAKEN } from './layout.js';
import { kindOfRow } from './memo.js';
import type { ObjectStore } from './objectStore.js';
import { DIGESTS } from './records.js';
import { digestsInText } from './references.js';
import { MANIFEST, readResult, UPDATES } from './runs.js';
import type { Digest } from './store.js';

const SMALL = 2 ** 16; // bytes of a blob that is read at once

export interface SweepOptions {
  /** ms since 1970; what was used since then is kept. */
  keepFrom: number;
  /** Runs that continue; all their checkpoints are kept. */
  open: ReadonlySet<string>;
  /** Names of checkpoints from which runs without a manifest will start. */
  beginnings?: ReadonlySet<string>;
  /** Of an ended run keep the best, the latest and every Nth checkpoint; absent: all. */
  keepEvery?: number;
  dryRun: boolean;
}

export interface Amount {
  files: number;
  bytes: number;
}

export interface Swept {
  checkpoints: Amount & { names: string[] };
  memos: Amount;
  blobs: Amount;
  /** Damaged files in quarantine, files of updates that no run continues, and what a killed sweep left in the trash. */
  leftovers: Amount;
  bytes: number;
  /** All removed files, relative to the store, sorted. */
  paths: string[];
}

export async function sweep(store: ObjectStore, options: SweepOptions): Promise<Swept> {
  const { keepFrom } = options;
  const paths: string[] = [];
  const leftovers = await sweepLeftovers(store, options, paths);
  const checkpoints = await thinCheckpoints(store, options, paths);
  const memos = await listMemos(store);
  const { blobs } = await listBlobs(store);
  const usedAt = groupUse(memos);
  const isUsed = ({ name }: StoredFile): boolean => usedAt.get(kindOfRow(name).of)! >= keepFrom;
  const kept = await reachable(store, blobs, [
    ...(await namedByRuns(store, checkpoints.gone)),
    ...(await namedByRows(store, memos.filter(isUsed))),
    ...blobs.filter((blob) => blob.usedAt >= keepFrom).map(({ name }) => name),
  ]);
  const unnamed = blobs.filter((blob) => blob.usedAt < keepFrom && !kept.has(blob.name));
  const unused = memos.filter((row) => !isUsed(row));
  const rows = await drop(store, unused, options, paths, ({ name }) => `memo-${name}`);
  const swept = await drop(store, unnamed, options, paths, ({ name }) => hexOf(name));
  const { gone: _, ...thinned } = checkpoints;
  const bytes = thinned.bytes + rows.bytes + swept.bytes + leftovers.bytes;
  return { checkpoints: thinned, memos: rows, blobs: swept, leftovers, bytes, paths: paths.sort() };
}

/** When each row was used; a row and its record are kept or removed together. */
function groupUse(memos: readonly StoredFile[]): Map<string, number> {
  const usedAt = new Map<string, number>();
  for (const { name, usedAt: at } of memos) {
    const { of } = kindOfRow(name);
    usedAt.set(of, Math.max(at, usedAt.get(of) ?? 0));
  }
  return usedAt;
}

async function drop(
  { objects }: ObjectStore,
  candidates: readonly StoredFile[],
  { keepFrom, dryRun }: SweepOptions,
  paths: string[],
  takenName: (file: StoredFile) => string,
): Promise<Amount> {
  const amount: Amount = { files: 0, bytes: 0 };
  await inParallel(candidates, async (file) => {
    if (!dryRun) {
      const taken = layout.taken(takenName(file));
      const again = await objects.move(file.path, taken, false);
      if (again === undefined) return;
      const isUsed = again.usedAt >= keepFrom;
      if (isUsed) await objects.restore(taken, file.path);
      await objects.remove(taken, false);
      if (isUsed) return;
    }
    amount.files++;
    amount.bytes += file.bytes;
    paths.push(file.path);
  });
  return amount;
}

/** The roots and all existing artifacts that they refer to, directly or not. */
async function reachable(
  store: ObjectStore,
  blobs: readonly StoredFile[],
  roots: readonly Digest[],
): Promise<Set<Digest>> {
  const sizes = new Map(blobs.map(({ name, bytes }) => [name, bytes]));
  const kept = new Set<Digest>(roots);
  for (let next = [...kept]; next.length > 0; ) {
    const named = await inParallel(next, (digest) => namedByBlob(store, digest, sizes.get(digest) ?? 0));
    next = [...new Set(named.flat())].filter((digest) => !kept.has(digest));
    for (const digest of next) kept.add(digest);
  }
  return kept;
}

/** A large blob is only read if its first byte may begin JSON: adapters refer to nothing. */
async function namedByBlob(store: ObjectStore, digest: Digest, bytes: number): Promise<Digest[]> {
  if (bytes > SMALL && !beginsJson(await store.objects.read(layout.blob(digest), 1))) return [];
  const blob = await inspectBlob(store, digest);
  return typeof blob === 'string' || !beginsJson(blob) ? [] : digestsInText(Buffer.from(blob).toString('utf8'));
}

const beginsJson = (bytes: Uint8Array | undefined): boolean => bytes?.[0] === 0x7b || bytes?.[0] === 0x5b; // { or [

async function namedByRows(store: ObjectStore, rows: readonly StoredFile[]): Promise<Digest[]> {
  const named = await inParallel(rows, ({ name }) => inspectMemo(store, name));
  return named.flatMap((row) => (typeof row === 'string' ? [] : [row.digest]));
}

/** Every digest in any JSON file of a run, also of a copy or of a run that somebody renamed. */
async function namedByRuns({ objects }: ObjectStore, gone: ReadonlySet<string>): Promise<Digest[]> {
  const digests: Digest[] = [];
  for (const runId of await objects.folders(RUNS)) {
    await inParallel(await objects.names(`${RUNS}/${runId}`), async (path) => {
      if (!path.endsWith('.json') || path.startsWith(`${DIGESTS}/`) || gone.has(checkpointOf(runId, path))) return;
      const bytes = await objects.read(`${RUNS}/${runId}/${path}`);
      if (bytes !== undefined) digests.push(...digestsInText(Buffer.from(bytes).toString('utf8')));
    });
  }
  return digests;
}

const checkpointOf = (runId: string, path: string): string => `${runId}/${path.split('/').slice(0, 2).join('/')}`;

async function thinCheckpoints(
  store: ObjectStore,
  { open, beginnings, keepEvery, dryRun, keepFrom }: SweepOptions,
  paths: string[],
): Promise<Swept['checkpoints'] & { gone: Set<string> }> {
  const thinned = { files: 0, bytes: 0, names: [] as string[], gone: new Set<string>() };
  if (keepEvery === undefined) return thinned;
  const runs = await store.listRuns();
  const mentioned = new Set([...(await mentionedCheckpoints(store, runs)), ...(beginnings ?? [])]);
  for (const runId of runs.filter((run) => !open.has(run))) {
    const all = await listCheckpoints(store, runId);
    const kept = await chosenCheckpoints(store, runId, all);
    if (kept === undefined) continue;
    for (const [index, { name }] of all.entries()) {
      if (index % keepEvery === 0 || kept.has(name) || mentioned.has(name)) continue;
      const folder = `${CHECKPOINTS}/${name}`;
      const below = [folder, `${DIGESTS}/${folder}`].map((path) => listFolder(store, `runs/${runId}/${path}`));
      const files = (await Promise.all(below)).flat();
      if (files.some((file) => file.usedAt >= keepFrom)) continue;
      thinned.files += files.length;
      thinned.bytes += files.reduce((sum, file) => sum + file.bytes, 0);
      thinned.names.push(`${runId}/${name}`);
      paths.push(...files.map(({ path }) => path));
      thinned.gone.add(`${runId}/${folder}`);
      if (!dryRun) await removeCheckpoint(store, runId, name);
    }
  }
  return thinned;
}

/** Best and latest according to the result, the pointers and the scores. Undefined if the run has not ended or one of these cannot be read. */
async function chosenCheckpoints(
  store: ObjectStore,
  runId: string,
  all: Awaited<ReturnType<typeof listCheckpoints>>,
): Promise<Set<string> | undefined> {
  try {
    const { result } = await readResult(store, runId);
    if (result === undefined) return undefined;
    const pointed = await Promise.all(POINTERS.map((pointer) => readPointer(store, runId, pointer)));
    const names = [
      result.best,
      bestCheckpoint(all)?.name,
      all.at(-1)?.name,
      ...pointed.map((pointer) => pointer?.name),
    ];
    return new Set(names.filter((name) => name !== undefined));
  } catch (error) {
    if (error instanceof GauntletError && !error.retryable) return undefined;
    throw error;
  }
}

/** Checkpoints that a manifest names, for example the one that another run started from. */
async function mentionedCheckpoints(store: ObjectStore, runs: readonly string[]): Promise<Set<string>> {
  const names = new Set<string>();
  for (const runId of runs) {
    const bytes = await store.readRunFile(runId, MANIFEST);
    const text = bytes === undefined ? '' : Buffer.from(bytes).toString('utf8');
    for (const name of text.match(/checkpoint_stage_\d_epoch_\d+/g) ?? []) names.add(name);
  }
  return names;
}

/** Removes old files of quarantine and of unfinished updates. Empties the trash of a killed sweep: what is in use goes back. */
async function sweepLeftovers(
  store: ObjectStore,
  { keepFrom, open, dryRun }: SweepOptions,
  paths: string[],
): Promise<Amount> {
  const { objects } = store;
  const amount: Amount = { files: 0, bytes: 0 };
  const taken = await listFolder(store, TAKEN);
  const closed = (await store.listRuns()).filter((run) => !open.has(run));
  const updates = await inParallel(closed, (run) => listFolder(store, layout.run(run, UPDATES)));
  for (const file of [...(await listFolder(store, ASIDE)), ...updates.flat(), ...taken]) {
    const { name, path, bytes } = file;
    const isUsed = file.usedAt >= keepFrom;
    if (isUsed && !taken.includes(file)) continue;
    if (!dryRun) {
      const place = () =>
        name.startsWith('memo-') ? layout.memo(name.slice('memo-'.length)) : layout.blob(`sha256:${name}`);
      if (isUsed) await objects.restore(path, place());
      await objects.remove(path, false);
    }
    if (isUsed) continue;
    amount.files++;
    amount.bytes += bytes;
    paths.push(path);
  }
  return amount;
}
