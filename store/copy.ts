// Copies a store into another one, which may hold some of it already: what is there is skipped, unless it is damaged or
// older. So a copy that was interrupted continues, and a backup can repair a store that went on. Whatever names an object
// is copied after it, and the manifest of a run comes last.
import { GauntletError } from '../core/base/errors.js';
import { digestBytes } from './canonicalJson.js';
import { CHECKPOINTS, hasCheckpointFile, isMetadataPath, isPointer, movePointers } from './checkpoints.js';
import { inParallel } from './inParallel.js';
import { inspectBlob, inspectMemo, listBlobs } from './inventory.js';
import { layout } from './layout.js';
import { unlessLost } from './memo.js';
import type { ObjectStore } from './objectStore.js';
import { checkRecord, DIGESTS } from './records.js';
import { ATTENTION, differenceOf, MANIFEST, readRun } from './runs.js';
import type { Digest } from './store.js';

export interface Copied {
  runs: number;
  files: number; // written files; pointers to checkpoints do not count
  bytes: number; // written bytes
  present: number; // files that the other store had already
}

/**
 * Rows and runs that are written meanwhile may be left out.
 * @throws GauntletError RUN_EXISTS if the target has another run under an id, CORRUPT_ARTIFACT naming a damaged file
 */
export async function copyStore(from: ObjectStore, to: ObjectStore): Promise<Copied> {
  const copied: Copied = { runs: 0, files: 0, bytes: 0, present: 0 };
  const paths = new Map<string, string[]>();
  for (const run of await inOrderOfStart(from)) {
    // what a run needs now, only its own server knows
    const all = (await from.listRunFiles(run, '')).filter((path) => path !== ATTENTION);
    if (all.length > 0) paths.set(run, all);
  }
  for (const run of paths.keys()) await refuseOther(from, to, run);
  // listed before the artifacts, because an artifact is written before what names it
  const keys = await from.memoKeys();

  const { blobs } = await listBlobs(from);
  await inParallel(blobs, async ({ name, bytes }) => {
    const blob = await inspectBlob(from, name);
    if (blob === 'missing') return; // a sweep took it
    if (blob === 'damaged') throw damaged(from, layout.blob(name));
    const present = await inspectBlob(to, name);
    if (typeof present === 'string') await to.putBlob(blob);
    count(copied, typeof present === 'string', bytes);
  });
  await inParallel(keys, async (key) => {
    const row = await inspectMemo(from, key);
    if (row === 'missing') return;
    if (row === 'damaged') throw damaged(from, layout.memo(key));
    const isNew = (await unlessLost(() => to.getMemo(key))) === undefined; // a damaged row is replaced
    if (isNew) await to.putMemo(key, row.digest, row.kind);
    count(copied, isNew, 0);
  });
  for (const [run, all] of paths) {
    for (const group of inOrder(all)) {
      if (group.some(isPointer))
        await movePointers(to, run); // the pointers choose among the checkpoints of both stores
      else
        await inParallel(group, async (path) => {
          const bytes = await from.readRunFile(run, path);
          if (bytes === undefined) return;
          const isNew = !(await mayStay(from, to, run, path, digestBytes(bytes)));
          if (isNew) await to.writeRunFile(run, path, bytes);
          count(copied, isNew, bytes.length);
        });
    }
    copied.runs++;
  }
  return copied;
}

/** Orders the runs by their start, so that the run that was started last is also the last one in the copy. */
async function inOrderOfStart(store: ObjectStore): Promise<string[]> {
  const runs = await store.listRuns();
  const times = await inParallel(runs, async (run) => (await store.runFileUsedAt(run, MANIFEST)) ?? 0);
  return runs
    .map((run, i) => ({ run, at: times[i]! }))
    .sort((a, b) => a.at - b.at)
    .map(({ run }) => run);
}

/** Whether the target has the same file of a run, or a whole one that was written later. */
async function mayStay(
  from: ObjectStore,
  to: ObjectStore,
  run: string,
  path: string,
  digest: Digest,
): Promise<boolean> {
  const bytes = await to.readRunFile(run, path);
  if (bytes === undefined) return false;
  if (digestBytes(bytes) === digest) return true;
  if (path.startsWith(`${DIGESTS}/`)) return isWhole(to, run, path.slice(DIGESTS.length + 1));
  const [ours, theirs] = await Promise.all([from.runFileUsedAt(run, path), to.runFileUsedAt(run, path)]);
  if ((theirs ?? 0) <= (ours ?? 0)) return false;
  return path.startsWith(`${CHECKPOINTS}/`) && !isMetadataPath(path)
    ? hasCheckpointFile(to, run, path, bytes)
    : isWhole(to, run, path);
}

const isWhole = async (store: ObjectStore, run: string, record: string): Promise<boolean> =>
  (await checkRecord(store, run, record)).problem === undefined;

async function refuseOther(from: ObjectStore, to: ObjectStore, run: string): Promise<void> {
  if ((await to.readRunFile(run, MANIFEST)) === undefined) return;
  if (differenceOf(await readRun(from, run), await readRun(to, run)) === undefined) return;
  throw new GauntletError('RUN_EXISTS', `${to.locate('')} has another run ${run}: copy into another store`);
}

/** Divides the paths of a run into groups: the files of a group may name files of earlier groups. */
function inOrder(paths: readonly string[]): string[][] {
  const rank = (path: string): number => {
    if (path === MANIFEST) return 4;
    if (path === `${DIGESTS}/${MANIFEST}`) return 5;
    if (path.startsWith(`${DIGESTS}/`)) return 3;
    if (isPointer(path)) return 2;
    return isMetadataPath(path) ? 1 : 0;
  };
  return [0, 1, 2, 3, 4, 5].map((wanted) => paths.filter((path) => rank(path) === wanted));
}

function count(copied: Copied, isNew: boolean, bytes: number): void {
  if (!isNew) copied.present++;
  else {
    copied.files++;
    copied.bytes += bytes;
  }
}

const damaged = (from: ObjectStore, key: string): GauntletError =>
  new GauntletError('CORRUPT_ARTIFACT', `${from.locate(key)} is damaged: see \`gauntlet store verify\``);
