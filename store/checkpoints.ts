// Checkpoints of a run: files first, metadata.json (with every digest, its own included) last, then the pointers.
// Whatever is killed in between, a checkpoint is there whole or not at all, and a damaged one is refused by name.

import { GauntletError } from '../core/errors.js';
import type { CheckpointMetadata, CheckpointPointer } from '../core/schema/checkpoint.js';
import { checkpointMetadataSchema, checkpointName, checkpointPointerSchema } from '../core/schema/checkpoint.js';
import { canonicalJson, digestBytes, digestJson } from './canonicalJson.js';
import type { FileStore } from './fileStore.js';
import { checkRecord, removeRecord, writeRecord } from './records.js';
import type { Store } from './store.js';

export const CHECKPOINTS = 'checkpoints';
const METADATA = 'metadata.json';
export const POINTERS = ['checkpoint_best', 'checkpoint_latest'] as const;

/** Paths inside a checkpoint's folder. The adapter folders are PEFT's: PEFT and vLLM load them as they are. */
export const CHECKPOINT_FILES = {
  generatorConfig: 'generator/adapter_config.json',
  generatorAdapter: 'generator/adapter_model.safetensors',
  discriminatorConfig: 'discriminator/adapter_config.json',
  discriminatorAdapter: 'discriminator/adapter_model.safetensors',
  generatorValueHead: 'generator/value_head.safetensors', // where there is one
  discriminatorValueHead: 'discriminator/value_head.safetensors',
  generatorOptimizer: 'optimizer_generator.bin', // store/tensors.ts
  discriminatorOptimizer: 'optimizer_discriminator.bin',
  archive: 'archive.json',
  pool: 'pool.json',
  split: 'split.json',
  training: 'training.json', // where in its stage the run was
} as const;

/** What the caller knows; name, files and digest follow from it and from the bytes. */
export type CheckpointFacts = Omit<CheckpointMetadata, 'runId' | 'name' | 'files' | 'digest'>;

export interface Checkpoint {
  metadata: CheckpointMetadata;
  files: Map<string, Uint8Array>;
}

/**
 * Writes a checkpoint and moves the pointers. The same checkpoint twice is harmless; another one under the same name
 * (a run repeated with changed parameters, or one that was damaged) takes its place, and is absent in between.
 */
export async function commitCheckpoint(
  store: Store,
  runId: string,
  facts: CheckpointFacts,
  files: ReadonlyMap<string, Uint8Array>,
): Promise<CheckpointMetadata> {
  const name = checkpointName(facts.stage, facts.epoch);
  const body = { ...facts, runId, name, files: Object.fromEntries([...files].map(([p, b]) => [p, digestBytes(b)])) };
  const metadata = checkpointMetadataSchema.parse({ ...body, digest: digestJson(body) });
  if (files.has(METADATA)) throw new GauntletError('BAD_INPUT', `${name}: ${METADATA} is written by the store`);
  if (!(await isWhole(store, runId, metadata))) {
    await removeOther(store, runId, metadata);
    for (const [path, bytes] of files) await store.writeRunFile(runId, at(name, path), bytes);
  }
  // of a whole one too: its writer may have been killed before it could name the digest
  await writeRecord(store, runId, at(name, METADATA), rendered(metadata));
  await movePointers(store, runId);
  return metadata;
}

/**
 * While its files change there is no checkpoint. The very same metadata stays: a twin has just written it, with the same
 * files, and whoever took it away and was killed would leave nobody to write it again.
 */
async function removeOther(store: Store, runId: string, { name, digest }: CheckpointMetadata): Promise<void> {
  const present = await readMetadata(store, runId, name);
  if (present === undefined || (typeof present !== 'string' && present.digest === digest)) return;
  await store.removeRunFile(runId, at(name, METADATA));
}

/** Committed checkpoints with readable metadata, in the order of training. Files are not read: see verifyCheckpoints. */
export async function listCheckpoints(store: Store, runId: string): Promise<CheckpointMetadata[]> {
  const found: CheckpointMetadata[] = [];
  for (const name of await folders(store, runId)) {
    const read = await readMetadata(store, runId, name);
    if (read !== undefined && typeof read !== 'string') found.push(read);
  }
  return found.sort((a, b) => a.step - b.step || a.stage - b.stage || a.epoch - b.epoch);
}

/** Where the metadata of a checkpoint lies: a record like others, so that a lost one is missed. */
export const isMetadataPath = (path: string): boolean => new RegExp(`^${CHECKPOINTS}/[^/]+/${METADATA}$`).test(path);

/** Metadata first: from then on there is no checkpoint, whatever is killed before the rest is gone. */
export async function removeCheckpoint(store: Store, runId: string, name: string): Promise<void> {
  await removeRecord(store, runId, at(name, METADATA));
  for (const path of await store.listRunFiles(runId, `${CHECKPOINTS}/${name}`)) await store.removeRunFile(runId, path);
}

/** It counts as used from now on. */
export async function touchCheckpoint({ files, layout }: FileStore, runId: string, name: string): Promise<void> {
  await files.touch(layout.run(runId, at(name, METADATA)), layout.run(runId));
}

/** The highest score; of equal ones the earliest. `checkpoints` are in the order of training. */
export function bestCheckpoint(checkpoints: readonly CheckpointMetadata[]): CheckpointMetadata | undefined {
  return checkpoints.reduce<CheckpointMetadata | undefined>(
    (best, next) => (best === undefined || next.score > best.score ? next : best),
    undefined,
  );
}

/**
 * A checkpoint with every file, all digests verified. `which` is a name, 'best' or 'latest'.
 * @throws GauntletError NOT_FOUND where there is none, BAD_CHECKPOINT naming it and what is wrong with it.
 */
export async function loadCheckpoint(store: Store, runId: string, which: string): Promise<Checkpoint> {
  const pointed = which === 'best' || which === 'latest';
  const pointer = pointed ? await readPointer(store, runId, `checkpoint_${which}`) : undefined;
  const name = pointed ? pointer?.name : which;
  if (name === undefined) {
    const some = (await listCheckpoints(store, runId)).length > 0;
    if (some) throw new GauntletError('BAD_CHECKPOINT', `run ${runId}: checkpoint_${which} is missing`);
    throw new GauntletError('NOT_FOUND', `run ${runId} has no checkpoint yet`);
  }
  const metadata = await readMetadata(store, runId, name);
  if (metadata === undefined) {
    if (pointed) throw refused(runId, name, [`${METADATA} is missing, but checkpoint_${which} names it`]);
    if (!(await isNone(store, runId, name))) throw refused(runId, name, [`${METADATA} is missing`]);
    throw await noSuch(store, runId, name);
  }
  if (typeof metadata === 'string') throw refused(runId, name, [metadata]);
  const files = new Map<string, Uint8Array>();
  const problems = await checkFiles(store, runId, metadata, files);
  if (problems.length === 0) return { metadata, files };
  if (await isNone(store, runId, name)) throw await noSuch(store, runId, name); // given up while it was being read
  throw refused(runId, name, problems);
}

/** Never written, or given up; a lost one has left its digest. */
async function isNone(store: Store, runId: string, name: string): Promise<boolean> {
  if ((await readMetadata(store, runId, name)) !== undefined) return false;
  return (await checkRecord(store, runId, at(name, METADATA))).problem === undefined;
}

async function noSuch(store: Store, runId: string, name: string): Promise<GauntletError> {
  const near = nearest(await listCheckpoints(store, runId), name);
  const way = `list them with: npx gauntlet checkpoints list ${runId}`;
  const hint = near === undefined ? way : `the nearest is ${near}; ${way}`;
  return new GauntletError('NOT_FOUND', `run ${runId} has no checkpoint ${name}; ${hint}`);
}

/** The last one before that place in the schedule, else the first one after it. */
function nearest(checkpoints: readonly CheckpointMetadata[], name: string): string | undefined {
  const [stage, epoch] = (/^checkpoint_stage_(\d)_epoch_(\d{1,6})$/.exec(name) ?? []).slice(1).map(Number);
  if (stage === undefined || epoch === undefined) return undefined;
  const isBefore = (at: CheckpointMetadata): boolean => at.stage < stage || (at.stage === stage && at.epoch < epoch);
  return (checkpoints.findLast(isBefore) ?? checkpoints[0])?.name;
}

export async function readPointer(
  store: Store,
  runId: string,
  pointer: string,
): Promise<CheckpointPointer | undefined> {
  const bytes = await store.readRunFile(runId, `${CHECKPOINTS}/${pointer}`);
  if (bytes === undefined) return undefined;
  const parsed = checkpointPointerSchema.safeParse(parseJson(bytes));
  if (parsed.success && rendered(parsed.data) === Buffer.from(bytes).toString('utf8')) {
    const { digest } = parsed.data;
    if (digest === undefined || digest === pointerDigest(runId, pointer, parsed.data)) return parsed.data;
  }
  throw new GauntletError('BAD_CHECKPOINT', `run ${runId}: ${pointer} is damaged`);
}

function pointerDigest(runId: string, pointer: string, { name, score }: CheckpointPointer): string {
  return digestJson({ runId, pointer, name, score });
}

export interface CheckpointReport {
  name: string; // of a checkpoint or of a pointer
  committed: boolean; // false: no metadata; what a killed writer leaves, no harm unless a pointer names it
  problems: string[];
}

/** Reads every byte of every checkpoint and pointer of a run; an entry without problems is good. */
export async function verifyCheckpoints(store: Store, runId: string): Promise<CheckpointReport[]> {
  const reports: CheckpointReport[] = [];
  for (const name of await folders(store, runId)) {
    const metadata = await readMetadata(store, runId, name);
    if (metadata === undefined) {
      reports.push({ name, committed: false, problems: [`${METADATA} is missing: never committed, or lost`] });
    } else {
      const problems = typeof metadata === 'string' ? [metadata] : await checkFiles(store, runId, metadata);
      reports.push({ name, committed: true, problems });
    }
  }
  const committed = new Map((await listCheckpoints(store, runId)).map((metadata) => [metadata.name, metadata]));
  for (const pointer of POINTERS) reports.push(await checkPointer(store, runId, pointer, committed));
  return reports.filter((report) => report.committed || report.problems.length > 0);
}

async function checkPointer(
  store: Store,
  runId: string,
  pointer: (typeof POINTERS)[number],
  committed: ReadonlyMap<string, CheckpointMetadata>,
): Promise<CheckpointReport> {
  const report: CheckpointReport = { name: pointer, committed: true, problems: [] };
  try {
    const target = await readPointer(store, runId, pointer);
    if (target === undefined) {
      report.committed = false;
      if (committed.size > 0) report.problems.push('is missing');
    } else if (committed.get(target.name)?.score !== target.score) {
      report.problems.push(`names ${target.name} with score ${target.score}, which is not there`);
    }
  } catch (error) {
    if (!(error instanceof GauntletError) || error.code !== 'BAD_CHECKPOINT') throw error;
    report.problems.push('is damaged');
  }
  return report;
}

/** Until they are what the checkpoints give: another writer may have added one since these were listed. */
async function movePointers(store: Store, runId: string): Promise<void> {
  for (let moved = true; moved; ) {
    moved = false;
    const all = await listCheckpoints(store, runId);
    const targets = [bestCheckpoint(all), all.at(-1)];
    for (const [index, pointer] of POINTERS.entries()) {
      const target = targets[index];
      if (target === undefined) continue;
      const { name, score } = target;
      const value: CheckpointPointer = { name, score, digest: pointerDigest(runId, pointer, { name, score }) };
      const path = `${CHECKPOINTS}/${pointer}`;
      const bytes = await store.readRunFile(runId, path);
      if (bytes !== undefined && rendered(value) === Buffer.from(bytes).toString('utf8')) continue;
      await store.writeRunFile(runId, path, rendered(value));
      moved = true;
    }
  }
}

async function isWhole(store: Store, runId: string, metadata: CheckpointMetadata): Promise<boolean> {
  const present = await readMetadata(store, runId, metadata.name);
  if (present === undefined || typeof present === 'string' || present.digest !== metadata.digest) return false;
  return (await checkFiles(store, runId, metadata)).length === 0;
}

/** Undefined: not committed. A string: what is wrong with it. */
async function readMetadata(
  store: Store,
  runId: string,
  name: string,
): Promise<CheckpointMetadata | string | undefined> {
  const bytes = await store.readRunFile(runId, at(name, METADATA));
  if (bytes === undefined) return undefined;
  const parsed = checkpointMetadataSchema.safeParse(parseJson(bytes));
  if (!parsed.success) return `${METADATA} is damaged (${parsed.error.issues[0]?.message ?? 'not readable'})`;
  const { digest, ...body } = parsed.data;
  // The bytes must be the very ones that the store writes for these fields, so that no flipped bit goes unseen.
  const exact = digest === digestJson(body) && rendered(parsed.data) === Buffer.from(bytes).toString('utf8');
  if (!exact) return `${METADATA} is damaged (its digest does not fit)`;
  if (body.name !== name || body.runId !== runId) return `${METADATA} belongs to ${body.name} of run ${body.runId}`;
  return parsed.data;
}

async function checkFiles(
  store: Store,
  runId: string,
  metadata: CheckpointMetadata,
  into?: Map<string, Uint8Array>,
): Promise<string[]> {
  const problems: string[] = [];
  for (const [path, digest] of Object.entries(metadata.files)) {
    const bytes = await readUnlessRefused(store, runId, at(metadata.name, path));
    if (typeof bytes === 'string') problems.push(bytes);
    else if (bytes === undefined) problems.push(`${path} is missing`);
    else if (digestBytes(bytes) !== digest) problems.push(`${path} is damaged (not ${digest})`);
    else into?.set(path, bytes);
  }
  return problems;
}

/** A string: why a file that somebody's metadata names is none that a checkpoint may have. */
async function readUnlessRefused(store: Store, runId: string, path: string): Promise<Uint8Array | string | undefined> {
  try {
    return await store.readRunFile(runId, path);
  } catch (error) {
    if (error instanceof GauntletError && !error.retryable) return error.message;
    throw error;
  }
}

async function folders(store: Store, runId: string): Promise<string[]> {
  const paths = await store.listRunFiles(runId, CHECKPOINTS);
  const names = paths.map((path) => path.split('/')).filter((parts) => parts.length > 2);
  return [...new Set(names.map((parts) => parts[1]!))].sort();
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}

function at(name: string, path: string): string {
  return `${CHECKPOINTS}/${name}/${path}`;
}

function rendered(value: unknown): string {
  return `${canonicalJson(value, 2)}\n`;
}

function refused(runId: string, name: string, problems: readonly string[]): GauntletError {
  return new GauntletError('BAD_CHECKPOINT', `run ${runId}: ${name} is refused: ${problems.join('; ')}`);
}
