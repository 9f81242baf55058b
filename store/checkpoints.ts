// Checkpoints of a run. The files are written first, metadata.json with all digests last, then the pointers. So a kill at
// any point leaves a complete checkpoint or none, and a damaged one is refused by name.
import { GauntletError } from '../core/base/errors.js';
import type { Role, Stage } from '../core/schema/chain.js';
import {
  type CheckpointMetadata,
  type CheckpointPointer,
  checkpointMetadataSchema,
  checkpointName,
  checkpointPointerSchema,
} from '../core/schema/checkpoint.js';
import { digestBytes, digestJson, parseJson, renderedJson } from './canonicalJson.js';
import { isInTheWay } from './checks.js';
import { inParallel } from './inParallel.js';
import { checkRecord, writeRecord } from './records.js';
import type { Store } from './store.js';

export const CHECKPOINTS = 'checkpoints';
const METADATA = 'metadata.json';
const POINTERS = ['checkpoint_best', 'checkpoint_latest'] as const;

/** Paths inside a checkpoint's folder. PEFT and vLLM can load the adapter folders. */
export const CHECKPOINT_FILES = {
  generatorConfig: 'generator/adapter_config.json',
  generatorAdapter: 'generator/adapter_model.safetensors',
  discriminatorConfig: 'discriminator/adapter_config.json',
  discriminatorAdapter: 'discriminator/adapter_model.safetensors',
  generatorOptimizer: 'optimizer_generator.bin', // in the format of store/tensors.ts
  discriminatorOptimizer: 'optimizer_discriminator.bin',
  archive: 'archive.json',
  pool: 'pool.json',
  book: 'book.json', // only if the reward scheme has a mistake book
  split: 'split.json',
  training: 'training.json', // the position in the schedule
} as const;

/** The adapter that a role keeps for an earlier stage, in a folder like the role's. */
export const stageAdapterFile = (role: Role, stage: Stage, file = 'adapter_model.safetensors'): string =>
  `${role}/stage_${stage}/${file}`;

export type CheckpointFacts = Omit<CheckpointMetadata, 'runId' | 'name' | 'files' | 'digest'>;

export interface Checkpoint {
  metadata: CheckpointMetadata;
  files: Map<string, Uint8Array>;
}

/**
 * Writes a checkpoint and moves the pointers. Writing the same checkpoint again changes nothing. Another one under the
 * same name (the run was repeated with changed parameters, or the checkpoint was damaged) is replaced.
 * While it is replaced, there is no checkpoint of this name.
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
  if (files.has(METADATA))
    throw new GauntletError('BAD_INPUT', `${name}: leave out the file ${METADATA}, because the store writes it`);
  const present = await readMetadata(store, runId, name);
  const isSame = typeof present === 'object' && present.digest === metadata.digest;
  if (!isSame || (await checkFiles(store, runId, metadata)).length > 0) {
    // There is no checkpoint while its files change. The same metadata stays: another attempt has just written it, and if
    // this one removed it and were killed, nobody would write it again.
    if (present !== undefined && !isSame) await store.removeRunFile(runId, at(name, METADATA));
    await inParallel([...files], ([path, bytes]) => store.writeRunFile(runId, at(name, path), bytes));
  }
  // written even if the checkpoint is complete: its writer may have been killed before it wrote the digest of the metadata
  await writeRecord(store, runId, at(name, METADATA), renderedJson(metadata));
  await movePointers(store, runId);
  return metadata;
}

/** Committed checkpoints with readable metadata, in the order of training. Their files are not read. */
export async function listCheckpoints(store: Store, runId: string): Promise<CheckpointMetadata[]> {
  const read = await inParallel(await folders(store, runId), (name) => readMetadata(store, runId, name));
  const found = read.filter((metadata) => metadata !== undefined && typeof metadata !== 'string');
  return found.sort((a, b) => a.step - b.step || a.stage - b.stage || a.epoch - b.epoch);
}

export const isMetadataPath = (path: string): boolean => new RegExp(`^${CHECKPOINTS}/[^/]+/${METADATA}$`).test(path);

export const isPointer = (path: string): boolean => POINTERS.some((pointer) => path === `${CHECKPOINTS}/${pointer}`);

/** Whether these bytes are what the checkpoint wrote. @param path the path of a file inside a checkpoint */
export async function hasCheckpointFile(
  store: Store,
  runId: string,
  path: string,
  bytes: Uint8Array,
): Promise<boolean> {
  const [, name, ...file] = path.split('/');
  const metadata = await readMetadata(store, runId, name!);
  return typeof metadata === 'object' && metadata.files[file.join('/')] === digestBytes(bytes);
}

/** The checkpoint with the highest score; of equal ones, the earliest. @param checkpoints in the order of training */
export function bestCheckpoint(checkpoints: readonly CheckpointMetadata[]): CheckpointMetadata | undefined {
  return [...checkpoints].sort((a, b) => b.score - a.score)[0]; // a stable sort
}

/**
 * A checkpoint with every file, all digests verified. `which` is a name, 'best' or 'latest'.
 * @throws GauntletError NOT_FOUND if there is none, BAD_CHECKPOINT naming it and what is wrong with it.
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
  throw refused(runId, name, problems);
}

/** True if the checkpoint was never written. A checkpoint that was lost has left the digest of its metadata. */
async function isNone(store: Store, runId: string, name: string): Promise<boolean> {
  return (await checkRecord(store, runId, at(name, METADATA))).problem === undefined;
}

async function noSuch(store: Store, runId: string, name: string): Promise<GauntletError> {
  const near = nearest(await listCheckpoints(store, runId), name);
  const way = `list them with \`gauntlet checkpoints list ${runId}\``;
  const hint = near === undefined ? way : `the nearest is ${near}; ${way}`;
  return new GauntletError('NOT_FOUND', `run ${runId} has no checkpoint ${name}; ${hint}`);
}

/** Returns the last checkpoint before that place in the schedule, or the first one if there is none before it. */
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
  const bytes = await readUnlessRefused(store, runId, `${CHECKPOINTS}/${pointer}`);
  if (bytes === undefined) return undefined;
  const parsed = checkpointPointerSchema.safeParse(typeof bytes === 'string' ? undefined : parseJson(bytes));
  if (parsed.success && renderedJson(parsed.data) === Buffer.from(bytes).toString('utf8')) {
    if (parsed.data.digest === pointerDigest(runId, pointer, parsed.data)) return parsed.data;
  }
  throw new GauntletError('BAD_CHECKPOINT', `run ${runId}: ${pointer} is damaged`);
}

const pointerDigest = (runId: string, pointer: string, target: Pick<CheckpointPointer, 'name' | 'score'>): string =>
  digestJson({ runId, pointer, name: target.name, score: target.score });

export interface CheckpointReport {
  name: string; // the name of a checkpoint or of a pointer
  committed: boolean; // false if there is no metadata, because the writer was killed or the file was lost
  problems: string[];
}

/** Reads every byte of every checkpoint and pointer of a run. A report without problems means that it is intact. */
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
  name: (typeof POINTERS)[number],
  committed: ReadonlyMap<string, CheckpointMetadata>,
): Promise<CheckpointReport> {
  const report = (...problems: string[]): CheckpointReport => ({ name, committed: true, problems });
  try {
    const target = await readPointer(store, runId, name);
    if (target === undefined) return { ...report(...(committed.size > 0 ? ['is missing'] : [])), committed: false };
    if (committed.get(target.name)?.score === target.score) return report();
    return report(`names ${target.name} with score ${target.score}, which does not exist`);
  } catch (error) {
    if (error instanceof GauntletError && error.code === 'BAD_CHECKPOINT') return report('is damaged');
    throw error;
  }
}

/** Moves the pointers until they match the list: another writer may have added a checkpoint since it was read. */
export async function movePointers(store: Store, runId: string): Promise<void> {
  for (let moved = true; moved; ) {
    moved = false;
    const all = await listCheckpoints(store, runId);
    const targets = { checkpoint_best: bestCheckpoint(all), checkpoint_latest: all.at(-1) };
    await inParallel(POINTERS, async (pointer) => {
      const target = targets[pointer];
      if (target === undefined) return;
      const { name, score } = target;
      const text = renderedJson({ name, score, digest: pointerDigest(runId, pointer, { name, score }) });
      const bytes = await readUnlessRefused(store, runId, `${CHECKPOINTS}/${pointer}`);
      if (typeof bytes === 'object' && text === Buffer.from(bytes).toString('utf8')) return;
      await store.writeRunFile(runId, `${CHECKPOINTS}/${pointer}`, text);
      moved = true;
    });
  }
}

/** Reads the metadata. Undefined if the checkpoint is not committed; a string says what is wrong with it. */
async function readMetadata(store: Store, runId: string, name: string) {
  const bytes = await store.readRunFile(runId, at(name, METADATA)).catch((error: unknown) => {
    if (isInTheWay(error)) return `${METADATA} is not a file`;
    throw error;
  });
  if (bytes === undefined || typeof bytes === 'string') return bytes;
  const parsed = checkpointMetadataSchema.safeParse(parseJson(bytes));
  if (!parsed.success) return `${METADATA} is damaged (${parsed.error.issues[0]?.message ?? 'not readable'})`;
  const { digest, ...body } = parsed.data;
  // The bytes must be exactly what the store writes for these fields, so that any flipped bit shows.
  const exact = digest === digestJson(body) && renderedJson(parsed.data) === Buffer.from(bytes).toString('utf8');
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

/** A string if the path is not one that a checkpoint may have; the metadata may come from somebody else. */
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

const at = (name: string, path: string): string => `${CHECKPOINTS}/${name}/${path}`;

const refused = (runId: string, name: string, problems: readonly string[]): GauntletError =>
  new GauntletError('BAD_CHECKPOINT', `run ${runId}: ${name} is refused: ${problems.join('; ')}`);
