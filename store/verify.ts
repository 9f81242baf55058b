// Reads every byte of a store and says by name what is wrong: records of runs, checkpoints, memo rows, blobs, and what
// one of them names and is not there. Nothing is changed.
import { GauntletError } from '../core/errors.js';
import { isTooDeep } from '../core/nesting.js';
import { digestBytes } from './canonicalJson.js';
import { CHECKPOINT_FILES, CHECKPOINTS, isMetadataPath, listCheckpoints, verifyCheckpoints } from './checkpoints.js';
import type { FileStore } from './fileStore.js';
import { listBlobs, listMemos, lookAtBlob, lookAtMemo } from './inventory.js';
import { kindOfRow, memoKey, memoRecordSchema, recordKey } from './memo.js';
import { checkRecord, DIGESTS, namedRecords } from './records.js';
import { digestsInBytes } from './references.js';
import { isKnownRecord, MANIFEST, readMetrics, readResult, readRun } from './runs.js';
import type { Digest } from './store.js';

export interface Finding {
  kind: 'record' | 'checkpoint' | 'memo' | 'blob';
  run?: string;
  name: string; // a path inside the store, or the digest of a blob
  problem: string;
  help: string; // what a person can do
}

export interface Verified {
  ok: boolean;
  findings: Finding[];
  checked: { runs: number; checkpoints: number; records: number; memos: number; blobs: number; bytes: number };
  /** As it should be and yet worth knowing: records of older runs without a digest, checkpoints never committed. */
  notes: string[];
}

const AGAIN = 'it is computed again when it is next needed';

/** `runId`: only that run and the artifacts that it names; memo rows belong to no run. */
export async function verifyStore(store: FileStore, runId?: string): Promise<Verified> {
  const verifier = new Verifier(store);
  for (const run of runId === undefined ? await store.listRuns() : [runId]) await verifier.run(run);
  if (runId === undefined) {
    await verifier.memos();
    await verifier.blobs();
  }
  return verifier.verified();
}

class Verifier {
  private readonly findings: Finding[] = [];
  private readonly notes: string[] = [];
  private readonly checked: Verified['checked'] = { runs: 0, checkpoints: 0, records: 0, memos: 0, blobs: 0, bytes: 0 };
  private readonly seen = new Set<Digest>();

  constructor(private readonly store: FileStore) {}

  verified(): Verified {
    const { findings, checked, notes } = this;
    return { ok: findings.length === 0, findings, checked, notes };
  }

  async run(runId: string): Promise<void> {
    this.checked.runs++;
    const before = this.findings.length;
    await this.records(runId);
    if (this.findings.length === before) await this.readable(runId); // of older runs only this tells
    await this.checkpoints(runId);
  }

  async memos(): Promise<void> {
    const rows = await listMemos(this.store);
    const keys = new Set(rows.map(({ name }) => name));
    for (const { name: key, path } of rows) {
      this.checked.memos++;
      const row = await lookAtMemo(this.store, key).catch((error: unknown) => {
        if (error instanceof GauntletError && error.code === 'BAD_INPUT') return { is: 'damaged' } as const;
        throw error;
      });
      if (row.is === 'damaged') this.add('memo', path, 'is damaged', AGAIN);
      if (row.is !== 'whole') continue;
      const { kind, of } = kindOfRow(key);
      if (kind === 'result' && row.value.kind === 'recorded' && !keys.has(recordKey(key))) {
        this.add(
          'memo',
          `memo/${recordKey(key)}`,
          `is missing (${path} has a record)`,
          'it is written again with the row',
        );
      }
      if (kind === 'record') await this.record(of, path, row.value.digest, keys.has(of));
      else await this.blob(row.value.digest, path);
    }
  }

  async blobs(): Promise<void> {
    const { blobs, strays } = await listBlobs(this.store);
    for (const { name, path } of blobs) await this.blob(name, path);
    for (const path of strays) this.add('blob', path, 'is no artifact: its name is no digest', 'delete it');
  }

  private async records(runId: string): Promise<void> {
    const there = await this.store.listRunFiles(runId, '');
    const named = await namedRecords(this.store, runId);
    const sealed = named.length > 0 || (await this.isSealed(runId));
    const own = there.filter((path) => !path.startsWith(`${DIGESTS}/`));
    const records = own.filter((path) => !path.startsWith(`${CHECKPOINTS}/`) || isMetadataPath(path));
    if (own.length > 0 && !own.includes(MANIFEST) && !named.includes(MANIFEST)) {
      this.inRun(runId, MANIFEST, 'is missing', `\`gauntlet resume ${runId}\` writes it again`);
    }
    for (const path of [...new Set([...records, ...named])].sort()) {
      this.checked.records++;
      const found = await checkRecord(this.store, runId, path);
      const known = isKnownRecord(path) || isMetadataPath(path);
      if (found.problem) this.inRun(runId, found.problem.of, found.problem.is, helpFor(path, runId));
      else if (!found.sealed && sealed && known) {
        const why = 'is missing: lost, or its writer was killed before it wrote it';
        this.inRun(
          runId,
          `${DIGESTS}/${path}`,
          why,
          `\`gauntlet resume ${runId}\` writes it again where the run goes on`,
        );
      } else if (!found.sealed) this.notes.push(`runs/${runId}/${path} has no digest, so not every change would show`);
    }
  }

  /** Whether records must have digests. A manifest that cannot be read says nothing. */
  private async isSealed(runId: string): Promise<boolean> {
    return readRun(this.store, runId).then(
      ({ sealed }) => sealed === true,
      (error: unknown) => {
        if (error instanceof GauntletError) return false;
        throw error;
      },
    );
  }

  private async readable(runId: string): Promise<void> {
    const read = async (work: () => Promise<unknown>): Promise<void> => {
      await work().catch((error: unknown) => {
        if (!(error instanceof GauntletError) || error.code === 'STORE_FAULT') throw error;
        this.inRun(runId, '', error.message, helpFor(MANIFEST, runId));
      });
    };
    await read(async () => {
      const { dataDigest } = await readRun(this.store, runId);
      await this.follow([dataDigest], `the manifest of run ${runId}`);
    });
    await read(() => readMetrics(this.store, runId));
    await read(() => readResult(this.store, runId));
  }

  private async checkpoints(runId: string): Promise<void> {
    const at = (name: string): string => `${CHECKPOINTS}/${name}`;
    const help = `go on from another checkpoint: \`gauntlet checkpoints list ${runId}\``;
    for (const { name, committed, problems } of await verifyCheckpoints(this.store, runId)) {
      this.checked.checkpoints++;
      const isPointer = !name.startsWith('checkpoint_stage');
      const leftover = !committed && !isPointer;
      for (const problem of problems) {
        if (leftover) this.notes.push(`runs/${runId}/${at(name)}: ${problem}`);
        else this.inRun(runId, at(name), problem, isPointer ? 'the next checkpoint puts it right' : help, 'checkpoint');
      }
    }
    for (const { name, files } of await listCheckpoints(this.store, runId)) {
      const bytes = await this.store.readRunFile(runId, `${at(name)}/${CHECKPOINT_FILES.archive}`);
      if (bytes === undefined || digestBytes(bytes) !== files[CHECKPOINT_FILES.archive]) continue; // told above
      await this.follow(digestsInBytes(bytes), `the archive of ${name} of run ${runId}`);
    }
  }

  /** What was computed from what: the row that it belongs to hangs on its content. */
  private async record(of: string, path: string, digest: Digest, hasRow: boolean): Promise<void> {
    await this.blob(digest, path);
    const blob = await lookAtBlob(this.store, digest);
    if (blob.is !== 'whole') return;
    const parsed = memoRecordSchema.safeParse(jsonOf(blob.value));
    if (
      !parsed.success ||
      isTooDeep(parsed.data.inputs) ||
      memoKey(parsed.data.name, parsed.data.version, parsed.data.inputs) !== of
    ) {
      this.add('memo', path, 'belongs to another row', 'delete it');
    } else if (!hasRow) {
      const why = `is missing: lost, or ${parsed.data.name} was killed before it wrote it`;
      this.add('memo', `memo/${of}`, why, AGAIN);
    }
  }

  /** Once each: its bytes, and all that it names. */
  private async blob(digest: Digest, by: string): Promise<void> {
    if (this.seen.has(digest)) return;
    this.seen.add(digest);
    const blob = await lookAtBlob(this.store, digest);
    if (blob.is === 'missing') this.add('blob', digest, `is missing, and ${by} names it`, AGAIN);
    if (blob.is === 'damaged') this.add('blob', digest, `is damaged at ${this.store.layout.blob(digest)}`, AGAIN);
    if (blob.is !== 'whole') return;
    this.checked.blobs++;
    this.checked.bytes += blob.value.length;
    await this.follow(digestsInBytes(blob.value), `artifact ${digest}`);
  }

  private async follow(digests: readonly Digest[], by: string): Promise<void> {
    for (const digest of digests) await this.blob(digest, by);
  }

  private inRun(run: string, path: string, problem: string, help: string, kind: Finding['kind'] = 'record'): void {
    this.findings.push({ kind, run, name: `runs/${run}${path === '' ? '' : `/${path}`}`, problem, help });
  }

  private add(kind: Finding['kind'], name: string, problem: string, help: string): void {
    this.findings.push({ kind, name, problem, help });
  }
}

function helpFor(path: string, runId: string): string {
  if (path === 'report.html') return `\`gauntlet report ${runId}\` draws it again`;
  if (isMetadataPath(path)) return `go on from another checkpoint: \`gauntlet checkpoints list ${runId}\``;
  return `\`gauntlet resume ${runId}\` writes it again where the run goes on; else take it from a backup`;
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}
