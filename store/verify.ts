// Reads every byte of a store and reports what is damaged or missing: records of runs, checkpoints, memo rows, blobs, and
// whatever these refer to. Changes nothing.
import { GauntletError } from '../core/base/errors.js';
import { isTooDeep } from '../core/base/nesting.js';
import { digestBytes, parseJson } from './canonicalJson.js';
import { CHECKPOINT_FILES, CHECKPOINTS, isMetadataPath, listCheckpoints, verifyCheckpoints } from './checkpoints.js';
import { isInTheWay, isUnreadable } from './checks.js';
import { inspectBlob, inspectMemo, listBlobs, listMemos } from './inventory.js';
import { layout } from './layout.js';
import { kindOfRow, memoKey, memoRecordSchema, recordKey } from './memo.js';
import type { ObjectStore } from './objectStore.js';
import { checkRecord, DIGESTS, listRecords } from './records.js';
import { digestsInBytes } from './references.js';
import { ATTENTION, isRunRecord, MANIFEST, readEvaluations, readMetrics, readResult, readRun } from './runs.js';
import type { Digest } from './store.js';

export interface Finding {
  kind: 'record' | 'checkpoint' | 'memo' | 'blob';
  run?: string;
  name: string; // a path inside the store, or the digest of a blob
  problem: string;
  help: string; // what a person can do about it
}

export interface Verified {
  ok: boolean;
  findings: Finding[];
  checked: { runs: number; checkpoints: number; records: number; memos: number; blobs: number; bytes: number };
  /** No damage, but worth knowing: checkpoints that were never committed. */
  notes: string[];
}

const RECOMPUTED = 'it is computed again when it is next needed';

/** @param runId checks only this run and the artifacts that it names; memo rows belong to no run */
export async function verifyStore(store: ObjectStore, runId?: string): Promise<Verified> {
  const verifier = new Verifier(store);
  if (runId === undefined) await verifier.strays();
  for (const run of runId === undefined ? await store.listRuns() : [runId]) await verifier.run(run);
  if (runId === undefined) {
    await verifier.memos();
    await verifier.blobs();
  }
  const { findings, checked, notes } = verifier;
  return { ok: findings.length === 0, findings, checked, notes };
}

class Verifier {
  readonly findings: Finding[] = [];
  readonly notes: string[] = [];
  readonly checked: Verified['checked'] = { runs: 0, checkpoints: 0, records: 0, memos: 0, blobs: 0, bytes: 0 };
  private readonly seen = new Set<Digest>();

  constructor(private readonly store: ObjectStore) {}

  async run(runId: string): Promise<void> {
    this.checked.runs++;
    const files = await this.store.listRunFiles(runId, '').catch(() => []); // a fault is reported below
    if (files.join() === ATTENTION) return; // the run failed before it was prepared
    const before = this.findings.length;
    await this.reporting(runId, () => this.records(runId));
    if (this.findings.length === before) await this.contents(runId);
    await this.reporting(runId, () => this.checkpoints(runId));
  }

  async strays(): Promise<void> {
    for (const name of await this.store.strayRuns())
      this.notes.push(`runs/${name}: is ignored, because this is not the name of a run: rename it or move it away`);
  }

  async memos(): Promise<void> {
    const rows = await listMemos(this.store);
    const keys = new Set(rows.map(({ name }) => name));
    for (const { name: key, path } of rows) {
      this.checked.memos++;
      const row = await inspectMemo(this.store, key).catch(damagedIfUnreadable);
      if (row === 'damaged') this.add('memo', path, 'is damaged', RECOMPUTED);
      if (typeof row === 'string') continue;
      const { kind, of } = kindOfRow(key);
      if (kind === 'result' && row.kind === 'recorded' && !keys.has(recordKey(key))) {
        const problem = `is missing (${path} has a record)`;
        this.add('memo', `memo/${recordKey(key)}`, problem, 'it is written again with the row');
      }
      if (kind === 'record') await this.memoRecord(of, path, row.digest, keys.has(of));
      else await this.blob(row.digest, path);
    }
  }

  async blobs(): Promise<void> {
    const { blobs, strays } = await listBlobs(this.store);
    for (const { name, path } of blobs) await this.blob(name, path);
    for (const path of strays) this.add('blob', path, 'is not an artifact: its name is not a digest', 'delete it');
  }

  private async records(runId: string): Promise<void> {
    const all = await listRecords(this.store, runId, '');
    const resumed = `\`gauntlet resume ${runId}\` writes it again`;
    if (all.length > 0 && !all.includes(MANIFEST)) this.inRun(runId, MANIFEST, 'is missing', resumed);
    for (const path of all.filter((one) => isRunRecord(one) || isMetadataPath(one))) {
      this.checked.records++;
      const { hasDigest, problem } = await checkRecord(this.store, runId, path).catch((error: unknown) => {
        if (!isInTheWay(error)) throw error;
        return { hasDigest: true, problem: { path, what: `is not a file (${(error as Error).message})` } };
      });
      if (problem) this.inRun(runId, problem.path, problem.what, helpFor(path, runId));
      else if (!hasDigest) {
        const what = 'is missing: lost, or its writer was killed before it wrote it';
        this.inRun(runId, `${DIGESTS}/${path}`, what, `${resumed} if the run continues`);
      }
    }
  }

  /** Parses the records and follows the digests in the manifest. */
  private async contents(runId: string): Promise<void> {
    await this.reporting(runId, async () => {
      const { dataDigest } = await readRun(this.store, runId);
      await this.follow([dataDigest], `the manifest of run ${runId}`);
      await readMetrics(this.store, runId);
      await readResult(this.store, runId);
      await readEvaluations(this.store, runId);
    });
  }

  /** Runs `work`. A failure of this run is a finding, so that the other runs are checked, too. */
  private async reporting(runId: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof GauntletError)) throw error;
      if (error.code === 'STORE_FAULT' && !isUnreadable(error)) throw error;
      this.inRun(runId, '', error.message, helpFor(MANIFEST, runId));
    }
  }

  private async checkpoints(runId: string): Promise<void> {
    const at = (name: string): string => `${CHECKPOINTS}/${name}`;
    for (const { name, committed, problems } of await verifyCheckpoints(this.store, runId)) {
      this.checked.checkpoints++;
      const isPointer = !name.startsWith('checkpoint_stage');
      const help = isPointer ? 'the next checkpoint corrects it' : otherCheckpoint(runId);
      for (const problem of problems) {
        if (!committed && !isPointer) this.notes.push(`runs/${runId}/${at(name)}: ${problem}`);
        else this.inRun(runId, at(name), problem, help, 'checkpoint');
      }
    }
    for (const { name, files } of await listCheckpoints(this.store, runId)) {
      const bytes = await this.store.readRunFile(runId, `${at(name)}/${CHECKPOINT_FILES.archive}`);
      if (bytes === undefined || digestBytes(bytes) !== files[CHECKPOINT_FILES.archive]) continue; // reported above
      await this.follow(digestsInBytes(bytes), `the archive of ${name} of run ${runId}`);
    }
  }

  /** Checks the record of a row: its name, version and inputs must give the key of the row. */
  private async memoRecord(key: string, path: string, digest: Digest, hasRow: boolean): Promise<void> {
    await this.blob(digest, path);
    const blob = await inspectBlob(this.store, digest).catch(damagedIfUnreadable);
    if (typeof blob === 'string') return;
    const { data } = memoRecordSchema.safeParse(parseJson(blob));
    if (!data || isTooDeep(data.inputs) || memoKey(data.name, data.version, data.inputs) !== key) {
      this.add('memo', path, 'belongs to another row', 'delete it');
    } else if (!hasRow) {
      this.add('memo', `memo/${key}`, `is missing: lost, or ${data.name} was killed before it wrote it`, RECOMPUTED);
    }
  }

  /** Checks a blob and all that it refers to, once each. */
  private async blob(digest: Digest, referrer: string): Promise<void> {
    if (this.seen.has(digest)) return;
    this.seen.add(digest);
    const blob = await inspectBlob(this.store, digest).catch(damagedIfUnreadable);
    if (blob === 'missing') this.add('blob', digest, `is missing, and ${referrer} names it`, RECOMPUTED);
    else if (blob === 'damaged')
      this.add('blob', digest, `is damaged at ${this.store.locate(layout.blob(digest))}`, RECOMPUTED);
    else {
      this.checked.blobs++;
      this.checked.bytes += blob.length;
      await this.follow(digestsInBytes(blob), `artifact ${digest}`);
    }
  }

  private async follow(digests: readonly Digest[], referrer: string): Promise<void> {
    for (const digest of digests) await this.blob(digest, referrer);
  }

  private inRun(run: string, path: string, problem: string, help: string, kind: Finding['kind'] = 'record'): void {
    this.findings.push({ kind, run, name: `runs/${run}${path === '' ? '' : `/${path}`}`, problem, help });
  }

  private add(kind: Finding['kind'], name: string, problem: string, help: string): void {
    this.findings.push({ kind, name, problem, help });
  }
}

function damagedIfUnreadable(error: unknown): 'damaged' {
  if (isUnreadable(error)) return 'damaged';
  throw error;
}

const otherCheckpoint = (runId: string): string =>
  `continue from another checkpoint: \`gauntlet checkpoints list ${runId}\``;

function helpFor(path: string, runId: string): string {
  if (path === 'report.html') return `\`gauntlet report ${runId}\` renders it again`;
  if (path.startsWith('evaluations/')) return 'the same `gauntlet evaluate` writes it again';
  if (isMetadataPath(path)) return otherCheckpoint(runId);
  return `\`gauntlet resume ${runId}\` writes it again if the run continues; otherwise restore it from a backup`;
}
