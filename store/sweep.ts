// Gives back the space of what nothing refers to any more. Kept, with all that they name: records of runs, checkpoints,
// and every memo row and artifact that was used since `keepFrom` (the start of the oldest run that goes on, or later
// than which nothing is given up). Rows go before artifacts, and a row without its artifact is computed again, so a
// sweep that is killed anywhere leaves a store that works.
//
// Beside running workers: whoever relies on an artifact touches it (FileStore.putBlob, hasBlob), and one touched since
// `keepFrom` stays. A touch between the look and the removal is not lost either: a file is first *taken* (renamed into
// trash/), then looked at again. Touched before that: the second look sees it, and the file goes back. Touched after:
// the touch finds nothing, and the writer either takes the file back (it is then a second name of the same bytes, which
// the removal from trash/ leaves alone) or writes it anew.
import { GauntletError } from '../core/errors.js';
import {
  bestCheckpoint,
  CHECKPOINTS,
  listCheckpoints,
  POINTERS,
  readPointer,
  removeCheckpoint,
} from './checkpoints.js';
import type { FileStore } from './fileStore.js';
import { listBlobs, listFolder, listMemos, lookAtBlob, lookAtMemo, type StoredFile } from './inventory.js';
import { ASIDE, hexOf, TAKEN } from './layout.js';
import { kindOfRow } from './memo.js';
import { DIGESTS } from './records.js';
import { digestsInText } from './references.js';
import { MANIFEST, readResult } from './runs.js';
import type { Digest } from './store.js';

export interface SweepOptions {
  /** ms since 1970: what was used since then stays. */
  keepFrom: number;
  /** Runs that go on: their checkpoints are left alone. */
  open: ReadonlySet<string>;
  /** Names of checkpoints that a run is to begin at which has no manifest yet. */
  beginnings?: ReadonlySet<string>;
  /** Of a run that has ended keep the best, the latest and every so-manieth checkpoint; absent: all. */
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
  /** Damaged files that were moved aside, and what a killed sweep left. */
  leftovers: Amount;
  bytes: number;
  /** Every file of all these, relative to the store, sorted. */
  paths: string[];
}

export async function sweep(store: FileStore, options: SweepOptions): Promise<Swept> {
  const { keepFrom } = options;
  const paths: string[] = [];
  const leftovers = await sweepLeftovers(store, options, paths);
  const checkpoints = await thinCheckpoints(store, options, paths);
  const memos = await listMemos(store);
  const { blobs } = await listBlobs(store);
  const usedAt = groupUse(memos);
  const goes = memos.filter(({ name }) => usedAt.get(kindOfRow(name).of)! < keepFrom);
  const stays = memos.filter(({ name }) => usedAt.get(kindOfRow(name).of)! >= keepFrom);
  const kept = await reachable(store, [
    ...(await namedByRuns(store, checkpoints.gone)),
    ...(await namedByRows(store, stays)),
    ...blobs.filter((blob) => blob.usedAt >= keepFrom).map(({ name }) => name),
  ]);
  const unnamed = blobs.filter((blob) => blob.usedAt < keepFrom && !kept.has(blob.name));
  const rows = await drop(store, goes, options, paths, ({ name }) => `memo-${name}`);
  const swept = await drop(store, unnamed, options, paths, ({ name }) => hexOf(name));
  const { gone: _, ...thinned } = checkpoints;
  const bytes = thinned.bytes + rows.bytes + swept.bytes + leftovers.bytes;
  return { checkpoints: thinned, memos: rows, blobs: swept, leftovers, bytes, paths: paths.sort() };
}

/** A row and its record go together. */
function groupUse(memos: readonly StoredFile[]): Map<string, number> {
  const usedAt = new Map<string, number>();
  for (const { name, usedAt: at } of memos) {
    const { of } = kindOfRow(name);
    usedAt.set(of, Math.max(at, usedAt.get(of) ?? 0));
  }
  return usedAt;
}

async function drop(
  { root, files, layout }: FileStore,
  candidates: readonly StoredFile[],
  { keepFrom, dryRun }: SweepOptions,
  paths: string[],
  takenName: (file: StoredFile) => string,
): Promise<Amount> {
  const amount: Amount = { files: 0, bytes: 0 };
  for (const file of candidates) {
    if (!dryRun) {
      const [path, taken] = [`${root}/${file.path}`, layout.taken(takenName(file))];
      if (!(await files.move(path, taken, false))) continue;
      const again = await files.facts(taken);
      const isUsed = again !== undefined && again.usedAt >= keepFrom;
      if (isUsed) await files.alias(taken, path);
      await files.remove(taken, false);
      if (isUsed) continue;
    }
    amount.files++;
    amount.bytes += file.bytes;
    paths.push(file.path);
  }
  return amount;
}

/** All that is named by what is named, as far as it is there. */
async function reachable(store: FileStore, roots: readonly Digest[]): Promise<Set<Digest>> {
  const kept = new Set<Digest>(roots);
  const queue = [...kept];
  for (let digest = queue.pop(); digest !== undefined; digest = queue.pop()) {
    const blob = await lookAtBlob(store, digest);
    if (blob.is !== 'whole' || (blob.value[0] !== 0x7b && blob.value[0] !== 0x5b)) continue; // no JSON
    for (const named of digestsInText(Buffer.from(blob.value).toString('utf8'))) {
      if (kept.has(named)) continue;
      kept.add(named);
      queue.push(named);
    }
  }
  return kept;
}

async function namedByRows(store: FileStore, rows: readonly StoredFile[]): Promise<Digest[]> {
  const digests: Digest[] = [];
  for (const { name } of rows) {
    const row = await lookAtMemo(store, name);
    if (row.is === 'whole') digests.push(row.value.digest);
  }
  return digests;
}

/** Every digest in any record or checkpoint, whoever wrote it and whatever it is for. */
async function namedByRuns(store: FileStore, gone: ReadonlySet<string>): Promise<Digest[]> {
  const digests: Digest[] = [];
  for (const runId of await store.listRuns()) {
    for (const path of await store.listRunFiles(runId, '')) {
      if (!path.endsWith('.json') || path.startsWith(`${DIGESTS}/`) || gone.has(checkpointOf(runId, path))) continue;
      const bytes = await store.readRunFile(runId, path);
      if (bytes !== undefined) digests.push(...digestsInText(Buffer.from(bytes).toString('utf8')));
    }
  }
  return digests;
}

const checkpointOf = (runId: string, path: string): string => `${runId}/${path.split('/').slice(0, 2).join('/')}`;

async function thinCheckpoints(
  store: FileStore,
  { open, beginnings, keepEvery, dryRun, keepFrom }: SweepOptions,
  paths: string[],
): Promise<Swept['checkpoints'] & { gone: Set<string> }> {
  const thinned = { files: 0, bytes: 0, names: [] as string[], gone: new Set<string>() };
  if (keepEvery === undefined) return thinned;
  const runs = await store.listRuns();
  const mentioned = new Set([...(await mentionedCheckpoints(store, runs)), ...(beginnings ?? [])]);
  for (const runId of runs.filter((run) => !open.has(run))) {
    const all = await listCheckpoints(store, runId);
    const kept = await chosenCheckpoints(store, runId);
    if (kept === undefined) continue; // it has not ended, or what it ended with cannot be read
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

/** Best and latest, as the run, its pointers and the scores say. Undefined where one of these cannot be read. */
async function chosenCheckpoints(store: FileStore, runId: string): Promise<Set<string> | undefined> {
  try {
    const { result } = await readResult(store, runId);
    if (result === undefined) return undefined;
    const all = await listCheckpoints(store, runId);
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

/** Checkpoints that a manifest speaks of: what another run began from, for example. */
async function mentionedCheckpoints(store: FileStore, runs: readonly string[]): Promise<Set<string>> {
  const names = new Set<string>();
  for (const runId of runs) {
    const bytes = await store.readRunFile(runId, MANIFEST);
    const text = bytes === undefined ? '' : Buffer.from(bytes).toString('utf8');
    for (const name of text.match(/checkpoint_stage_\d_epoch_\d+/g) ?? []) names.add(name);
  }
  return names;
}

/** Damaged files that were moved aside, once they are old, and what a killed sweep had taken. */
async function sweepLeftovers(store: FileStore, { keepFrom, dryRun }: SweepOptions, paths: string[]): Promise<Amount> {
  const amount: Amount = { files: 0, bytes: 0 };
  for (const file of [...(await listFolder(store, ASIDE)), ...(await listFolder(store, TAKEN))]) {
    const wasTaken = file.path.startsWith(`${TAKEN}/`);
    if (file.usedAt >= keepFrom && !wasTaken) continue;
    if (!dryRun && wasTaken && file.usedAt >= keepFrom) await untake(store, file);
    if (!dryRun) await store.files.remove(`${store.root}/${file.path}`, false);
    if (file.usedAt >= keepFrom) continue;
    amount.files++;
    amount.bytes += file.bytes;
    paths.push(file.path);
  }
  return amount;
}

async function untake({ root, files, layout }: FileStore, { name, path }: StoredFile): Promise<void> {
  const place = name.startsWith('memo-') ? layout.memo(name.slice('memo-'.length)) : layout.blob(`sha256:${name}`);
  await files.alias(`${root}/${path}`, place);
}
