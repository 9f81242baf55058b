// Makes a store with many runs out of those that were trained. Every run has samples of its own, so that nothing that the
// dashboard has read for one run helps it with the next one.
import { createHash } from 'node:crypto';
import { cpSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunMetrics, StepMetrics } from '../../../core/schema/metrics.js';
import { commitCheckpoint, listCheckpoints } from '../../../store/checkpoints.js';
import { inParallel } from '../../../store/inParallel.js';
import { inspectMemo, listMemos, type StoredFile } from '../../../store/inventory.js';
import { kindOfRow, recordKey } from '../../../store/memo.js';
import type { ObjectStore } from '../../../store/objectStore.js';
import { openStore } from '../../../store/openStore.js';
import { createRun, readMetrics, readResult, readRun, writeMetrics, writeResult } from '../../../store/runs.js';
import type { Ref } from '../../../store/store.js';
import { BenchError } from '../options.js';

export interface MadeStore {
  store: ObjectStore;
  runs: { id: string; steps: StepMetrics[] }[];
  samples: number;
  /** Steps that the first run has not recorded yet. */
  toCome: StepMetrics[];
}

/**
 * Copies the finished runs of a store in turn under other names. The first copy has not finished.
 * @param held steps that it has not recorded
 * @throws {BenchError} if there is none
 */
export async function makeRuns(source: string, folder: string, count: number, held: number): Promise<MadeStore> {
  for (const part of ['blobs', 'memo'])
    cpSync(join(source, part), join(folder, part), { recursive: true, preserveTimestamps: true });
  const [from, store] = [await openStore(source), await openStore(folder)];
  const finished = await finishedRuns(from);
  const memos = (await listMemos(store)).filter(({ name }) => kindOfRow(name).kind === 'result');
  const ids = Array.from({ length: count }, (_, i) => `run-${`${i}`.padStart(2, '0')}`);
  const made: MadeStore = { store, runs: [], samples: 0, toCome: [] };
  for (const [copy, id] of ids.entries()) {
    const run = finished[copy % finished.length]!;
    await createRun(store, id, await readRun(from, run));
    const metrics = await readMetrics(from, run);
    const own = await inParallel(metrics, (record) => withOwnSamples(store, record, copy));
    const steps = own.filter((record): record is StepMetrics => record.kind === 'step');
    const toCome = copy === 0 ? steps.slice(steps.length - held) : [];
    const last = toCome[0]?.step ?? Number.POSITIVE_INFINITY;
    await inParallel(own, async (record) => {
      if (record.step >= last) return;
      const path = `metrics/${nameOf(record)}.json`;
      await writeMetrics(store, id, nameOf(record), record);
      await setTime(store.locate(`runs/${id}/${path}`), (await from.runFileUsedAt(run, path))!, copy);
    });
    for (const facts of await listCheckpoints(from, run)) await commitCheckpoint(store, id, facts, new Map());
    const { result, chain } = await readResult(from, run);
    if (copy === 0) made.toCome = toCome;
    else await writeResult(store, id, { ...result!, runId: id }, chain);
    // the rows of all finished runs, once for as many copies
    if (copy > 0 && copy % finished.length === 0) await inParallel(memos, (row) => copyMemo(store, row, copy));
    made.runs.push({ id, steps: steps.filter(({ step }) => step < last) });
    made.samples += steps.flatMap(({ outcomes }) => Object.values(outcomes)).reduce((sum, each) => sum + each, 0);
  }
  return made;
}

export const nameOf = (record: RunMetrics): string | number => {
  if (record.kind === 'evaluation') return `${record.step}-${record.split}`;
  return record.kind === 'control' ? `${record.step}-control-${record.index}` : record.step;
};

async function finishedRuns(store: ObjectStore): Promise<string[]> {
  const found: string[] = [];
  for (const id of await store.listRuns()) {
    const hasSteps = (await readMetrics(store, id)).some(({ kind }) => kind === 'step');
    if (hasSteps && (await readResult(store, id)).result !== undefined) found.push(id);
  }
  if (found.length > 0) return found;
  throw new BenchError(`no run with steps has finished in ${store.locate('')}; gauntlet demo --store makes one`);
}

/** The same samples under other digests: blanks at the end of JSON change nothing else. */
async function withOwnSamples(store: ObjectStore, record: RunMetrics, copy: number): Promise<RunMetrics> {
  if (record.kind !== 'step') return record;
  const renamed = async <T>(ref: Ref<T>): Promise<Ref<T>> =>
    (await store.putBlob(Buffer.concat([await store.getBlob(ref), Buffer.from(' '.repeat(copy + 1))]))) as Ref<T>;
  const { chains, tests, verdicts } = record.artifacts;
  const own = {
    verdicts: await renamed(verdicts),
    ...(chains && { chains: await renamed(chains) }),
    ...(tests && { tests: await renamed(tests) }),
  };
  return { ...record, artifacts: { ...record.artifacts, ...own } };
}

/** Another row with the same result. A store of many runs has as many rows as they computed results. */
async function copyMemo(store: ObjectStore, { name, usedAt }: StoredFile, copy: number): Promise<void> {
  const other = createHash('sha256').update(`${name} ${copy}`).digest('hex');
  const record = await inspectMemo(store, recordKey(name));
  const row = await inspectMemo(store, name);
  if (typeof record === 'string' || typeof row === 'string') return;
  await store.putMemo(recordKey(other), record.digest);
  await store.putMemo(other, row.digest, row.kind);
  await setTime(store.locate(`memo/${other}`), usedAt, copy);
}

/** Each copy is an hour later than the one before. */
const setTime = (file: string, ms: number, copy: number): Promise<void> =>
  utimes(file, ms / 1000 + 3600 * copy, ms / 1000 + 3600 * copy);
