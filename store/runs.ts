// The records of a run: manifest, whole configuration, one metrics file per step, evaluations of checkpoints, result, report.
import { basename } from 'node:path';
import { z } from 'zod';
import { GauntletError } from '../core/base/errors.js';
import { parseAs } from '../core/base/issues.js';
import { type ChainView, chainViewSchema } from '../core/schema/chainView.js';
import type { CheckpointMetadata } from '../core/schema/checkpoint.js';
import { type RunConfig, runConfigSchema, runIdentity } from '../core/schema/config.js';
import { type EvaluationRecord, evaluationRecordSchema } from '../core/schema/evaluation.js';
import {
  type ControlMetrics,
  controlMetricsSchema,
  type RunMetrics,
  runMetricsSchema,
} from '../core/schema/metrics.js';
import { type RunProgress, type RunResult, runProgressSchema, runResultSchema } from '../core/schema/run.js';
import { differingKeys, digestJson, parseJson, renderedJson } from './canonicalJson.js';
import { inParallel } from './inParallel.js';
import { createRecord, listRecords, readRecord, writeRecord } from './records.js';
import type { Store } from './store.js';

export const MANIFEST = 'manifest.json';
/** The folder for files of unfinished updates (chains/train/updateFiles.ts). */
export const UPDATES = 'updates';
const METRICS = 'metrics';
const EVALUATIONS = 'evaluations';
/** The whole configuration, with the fields that change no result: enough to start a run that no server knows. */
const INPUT = 'input.json';
export const RESULT = 'result.json';
const CHAIN = 'chain.json';
const REPORT = 'report.html';
export const QUARANTINE = 'quarantine.json';
export const ENVIRONMENT = 'environment';
/** There while a run needs a person. It has no digest, because it comes and goes; nothing depends on it. */
export const ATTENTION = 'attention.json';

/** Other files in the folder of a run are ignored. */
export function isRunRecord(path: string): boolean {
  return (
    [MANIFEST, INPUT, RESULT, CHAIN, REPORT, QUARANTINE].includes(path) ||
    /^(metrics|environment|evaluations)\/[^/]+\.json$/.test(path)
  );
}

const runManifestSchema = z.strictObject({
  runId: z.string(),
  config: runConfigSchema,
  configDigest: z.string(),
  modelDigest: z.string(),
  discriminatorModelDigest: z.string().optional(), // only if the discriminator has its own base model
  /** The commits of models of the Hugging Face hub, for people: the digests decide. */
  modelRevision: z.string().optional(),
  discriminatorModelRevision: z.string().optional(),
  dataDigest: z.string(),
  codeVersion: z.string(), // the version of the code that started the run; another version may continue it
  seed: z.int().nonnegative(),
  /** The checkpoint that the run started from. */
  origin: z.strictObject({ run: z.string(), checkpoint: z.string(), digest: z.string() }).optional(),
});
export type RunManifest = z.infer<typeof runManifestSchema>;
export type RunFacts = Omit<RunManifest, 'runId' | 'configDigest' | 'seed'>;

/**
 * Claims a run id; of several claims at once one wins. If the run exists with the same configuration, model and
 * problems, its manifest is returned, so that a retry or a resumed run succeeds.
 * @throws GauntletError RUN_EXISTS naming what differs.
 */
export async function createRun(store: Store, runId: string, facts: RunFacts): Promise<RunManifest> {
  const { config } = facts;
  const manifest: RunManifest = { ...facts, runId, configDigest: digestJson(config), seed: config.seed };
  if (await createRecord(store, runId, MANIFEST, renderedJson(manifest))) return manifest;
  const present = await readRun(store, runId);
  const other = differenceOf(present, manifest);
  if (other === undefined) return present;
  const fieldsOf = (): string => differingKeys(runIdentity(present.config), config).join(', ');
  const what = other === 'configDigest' ? `other configuration (${fieldsOf()})` : `another ${other}`;
  throw new GauntletError('RUN_EXISTS', `run ${runId} exists with ${what}`);
}

const IDENTITY = ['configDigest', 'modelDigest', 'discriminatorModelDigest', 'dataDigest'] as const;

/** The first field in which two manifests with one id name different runs; undefined if they name the same run. */
export const differenceOf = (a: RunManifest, b: RunManifest) => IDENTITY.find((field) => a[field] !== b[field]);

/** @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT */
export async function readRun(store: Store, runId: string): Promise<RunManifest> {
  const bytes = await readRecord(store, runId, MANIFEST);
  if (bytes === undefined) throw new GauntletError('NOT_FOUND', `no run ${runId} in ${store.locate('')}`);
  const written = parseJson(bytes) as { config?: unknown } | undefined;
  const reason = `${damaged(runId, MANIFEST).message}: `;
  const manifest = parseAs(runManifestSchema, written, 'CORRUPT_ARTIFACT', reason);
  // the digest of the configuration as written: parsing adds the defaults of fields that runIdentity leaves out
  if (manifest.configDigest !== digestJson(written?.config) || manifest.runId !== runId) throw damaged(runId, MANIFEST);
  return manifest;
}

/**
 * The configuration of a run when a checkpoint was written: `gauntlet set` may have changed it before. If the artifact is
 * missing, the configuration in the manifest. @throws GauntletError BAD_CHECKPOINT, NOT_FOUND, CORRUPT_ARTIFACT
 */
export async function readConfigAt(
  store: Store,
  { runId, name, configDigest }: Pick<CheckpointMetadata, 'runId' | 'name' | 'configDigest'>,
): Promise<RunConfig> {
  if (!(await store.hasBlob(configDigest))) return (await readRun(store, runId)).config;
  const where = `${name}: ${configDigest} is no configuration: `;
  return parseAs(runConfigSchema, await store.getJson(configDigest), 'BAD_CHECKPOINT', where);
}

export const writeInput = (store: Store, runId: string, config: RunConfig): Promise<void> =>
  writeRecord(store, runId, INPUT, renderedJson(config));

/** Undefined if the run was killed before it wrote the file. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export const readInput = (store: Store, runId: string): Promise<RunConfig | undefined> =>
  readParsed(store, runId, INPUT, runConfigSchema);

/** Writes metrics/<step>.json, also over an earlier one. `step` is a number, or 'number-name'. */
export const writeMetrics = (store: Store, runId: string, step: number | string, metrics: RunMetrics): Promise<void> =>
  writeRecord(store, runId, `${METRICS}/${step}.json`, renderedJson(metrics));

/** All metrics of a run by step. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export async function readMetrics(store: Store, runId: string): Promise<RunMetrics[]> {
  return readAll(await listMetrics(store, runId), (path) => readMetricsFile(store, runId, path));
}

/** The control requests of a run in order. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export async function readControls(store: Store, runId: string): Promise<ControlMetrics[]> {
  const paths = (await listMetrics(store, runId)).filter((path) => /\/\d+-control-\d+\.json$/.test(path));
  const controls = await readAll(paths, (path) => readParsed(store, runId, path, controlMetricsSchema));
  return controls.sort((a, b) => a.index - b.index);
}

/** The metrics files of a run, by step. */
export async function listMetrics(store: Store, runId: string): Promise<string[]> {
  const paths = (await listRecords(store, runId, METRICS)).filter((path) => path.endsWith('.json'));
  return paths.sort((a, b) => stepOf(a) - stepOf(b) || (a < b ? -1 : 1));
}

/** Undefined if it was removed. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export const readMetricsFile = (store: Store, runId: string, path: string): Promise<RunMetrics | undefined> =>
  readParsed(store, runId, path, runMetricsSchema);

/** Reads all paths, and leaves out those where `read` finds nothing. */
export async function readAll<T>(
  paths: readonly string[],
  read: (path: string) => Promise<T | undefined>,
): Promise<Exclude<T, undefined>[]> {
  return (await inParallel(paths, read)).filter((each): each is Exclude<T, undefined> => each !== undefined);
}

const stepOf = (path: string): number => Number.parseInt(path.slice(METRICS.length + 1), 10);

/** Writes evaluations/<id>.json, also over an earlier one. Its artifacts are kept as long as it is. */
export const writeEvaluation = (store: Store, runId: string, id: string, record: EvaluationRecord): Promise<void> =>
  writeRecord(store, runId, `${EVALUATIONS}/${id}.json`, renderedJson(record));

/** The evaluations of a run by id. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export async function readEvaluations(store: Store, runId: string): Promise<[id: string, EvaluationRecord][]> {
  const found: [string, EvaluationRecord][] = [];
  for (const path of (await listRecords(store, runId, EVALUATIONS)).sort()) {
    const record = await readParsed(store, runId, path, evaluationRecordSchema);
    if (record !== undefined) found.push([basename(path, '.json'), record]);
  }
  return found;
}

/** The result of a run, and one chain of its best checkpoint in full. */
export async function writeResult(store: Store, runId: string, result: RunResult, chain?: ChainView): Promise<void> {
  if (chain !== undefined) await writeRecord(store, runId, CHAIN, renderedJson(chain));
  await writeRecord(store, runId, RESULT, renderedJson(result));
}

/** The page of a run. It can be rendered again from the other records at any time. */
export const writeReport = (store: Store, runId: string, page: string): Promise<void> =>
  writeRecord(store, runId, REPORT, page);

/** Empty while the run goes on. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export async function readResult(store: Store, runId: string): Promise<{ result?: RunResult; chain?: ChainView }> {
  const result = await readParsed(store, runId, RESULT, runResultSchema);
  const chain = await readParsed(store, runId, CHAIN, chainViewSchema);
  return { result, chain };
}

/** The progress of a run that needs a person, so that its reason is known without a server. Undefined: it goes on. */
export const writeAttention = (store: Store, runId: string, progress: RunProgress | undefined): Promise<void> =>
  progress === undefined
    ? store.removeRunFile(runId, ATTENTION)
    : store.writeRunFile(runId, ATTENTION, renderedJson(progress));

/** Undefined if the run needs nobody, or the file cannot be used. */
export async function readAttention(store: Store, runId: string): Promise<RunProgress | undefined> {
  const bytes = await store.readRunFile(runId, ATTENTION);
  return bytes && runProgressSchema.safeParse(parseJson(bytes)).data;
}

/** A record; undefined if there is none. @throws GauntletError CORRUPT_ARTIFACT naming the file */
export async function readParsed<T>(
  store: Store,
  runId: string,
  path: string,
  schema: z.ZodType<T>,
): Promise<T | undefined> {
  const bytes = await readRecord(store, runId, path);
  if (bytes === undefined) return undefined;
  const json = parseJson(bytes);
  const parsed = schema.safeParse(json);
  if (json !== undefined && parsed.success) return parsed.data;
  throw damaged(runId, path);
}

const damaged = (runId: string, path: string): GauntletError =>
  new GauntletError('CORRUPT_ARTIFACT', `${path} of run ${runId} is damaged`);
