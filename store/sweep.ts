// Removes what nothing refers to any more. Kept, with all that they name: records of runs, checkpoints, and every memo
// row and artifact that was used since `keepFrom`. Rows are removed before artifacts, and a row without its artifact is
// computed again, so a sweep that is killed at any point leaves a store that works.
//
// Workers may run meanwhile. Whoever relies on an artifact touches it (ObjectStore.putBlob, hasBlob). A touch between the
// check and the removal is not lost: an object is first taken (moved into trash/), and its last use is checked again. If
// it was touched before it was taken, it goes back. A touch after that does not find it, and the writer either restores it
// from trash/ or writes it again; removing it from trash/ then does no harm.
import { hexOf } from './canonicalJson.js';
import { inParallel } from './inParallel.js';
import { inspectBlob, inspectMemo, listBlobs, listFolder, listMemos, type StoredFile } from './inventory.js';
import { ASIDE, layout, RUNS, TAKEN } from './layout.js';
import { kindOfRow } from './memo.js';
import type { ObjectStore } from './objectStore.js';
import { DIGESTS } from './records.js';
import { digestsInText } from './references.js';
import { UPDATES } from './runs.js';
import type { Digest } from './store.js';

const SMALL = 2 ** 16; // bytes of a blob that is read at once

export interface SweepOptions {
  /** ms since 1970; what was used since then is kept. */
  keepFrom: number;
  /** Runs that continue. */
  open: ReadonlySet<string>;
  dryRun: boolean;
}

export interface Amount {
  files: number;
  bytes: number;
}

export interface Swept {
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
  const memos = await listMemos(store);
  const { blobs } = await listBlobs(store);
  const usedAt = groupUse(memos);
  const isUsed = ({ name }: StoredFile): boolean => usedAt.get(kindOfRow(name).of)! >= keepFrom;
  const kept = await reachable(store, blobs, [
    ...(await namedByRuns(store)),
    ...(await namedByRows(store, memos.filter(isUsed))),
    ...blobs.filter((blob) => blob.usedAt >= keepFrom).map(({ name }) => name),
  ]);
  const unnamed = blobs.filter((blob) => blob.usedAt < keepFrom && !kept.has(blob.name));
  const unused = memos.filter((row) => !isUsed(row));
  const rows = await drop(store, unused, options, paths, ({ name }) => `memo-${name}`);
  const swept = await drop(store, unnamed, options, paths, ({ name }) => hexOf(name));
  const bytes = rows.bytes + swept.bytes + leftovers.bytes;
  return { memos: rows, blobs: swept, leftovers, bytes, paths: paths.sort() };
}

/** When each row was last used. A row and its record count as one, because they are kept or removed together. */
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

/** Every digest in any JSON file of a run. Copies of runs, and runs that somebody renamed, count too. */
async function namedByRuns({ objects }: ObjectStore): Promise<Digest[]> {
  const digests: Digest[] = [];
  for (const runId of await objects.folders(RUNS)) {
    await inParallel(await objects.names(`${RUNS}/${runId}`), async (path) => {
      if (!path.endsWith('.json') || path.startsWith(`${DIGESTS}/`)) return;
      const bytes = await objects.read(`${RUNS}/${runId}/${path}`);
      for (const digest of digestsInText(Buffer.from(bytes ?? []).toString('utf8'))) digests.push(digest);
    });
  }
  return digests;
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
