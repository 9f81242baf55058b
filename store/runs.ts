// What a run leaves for people and for the report: its manifest, and one metrics file a step.
import { z } from 'zod';
import { GauntletError } from '../core/errors.js';
import { type ChainView, chainViewSchema } from '../core/schema/chainView.js';
import { type RunConfig, runConfigSchema, runIdentity } from '../core/schema/config.js';
import { type ControlMetrics, controlMetricsSchema } from '../core/schema/metrics.js';
import { type RunResult, runResultSchema } from '../core/schema/run.js';
import { canonicalJson, digestJson } from './canonicalJson.js';
import { createRecord, listRecords, readRecord, sealRecord, writeRecord } from './records.js';
import type { Store } from './store.js';

export const MANIFEST = 'manifest.json';
const METRICS = 'metrics';
/** The whole configuration, what changes no result included: with it a run can be started that no server knows. */
const INPUT = 'input.json';
export const RESULT = 'result.json';
const CHAIN = 'chain.json';
const REPORT = 'report.html';

/** Every run has these where it has got so far; other files in its folder are nobody's business here. */
export function isKnownRecord(path: string): boolean {
  return [MANIFEST, INPUT, RESULT, CHAIN, REPORT].includes(path) || /^metrics\/[^/]+\.json$/.test(path);
}

export const runManifestSchema = z.strictObject({
  runId: z.string(),
  config: runConfigSchema,
  configDigest: z.string(),
  modelDigest: z.string(),
  discriminatorModelDigest: z.string().optional(), // where it has a base of its own
  dataDigest: z.string(),
  codeVersion: z.string(), // of the code that started the run; a later one may go on with it
  seed: z.int().nonnegative(),
  /** The checkpoint it began at, as it was found then. */
  origin: z.strictObject({ run: z.string(), checkpoint: z.string(), digest: z.string() }).optional(),
  sealed: z.literal(true).optional(), // every record of the run has a digest; runs of older versions have none
});
export type RunManifest = z.infer<typeof runManifestSchema>;
export type RunFacts = Omit<RunManifest, 'runId' | 'configDigest' | 'seed' | 'sealed'>;

/**
 * Claims a run id. Where the run exists with the same configuration, model and problems, its manifest comes back, so
 * a retry or a resumed run passes; of two that claim one id at once, one wins.
 * @throws GauntletError RUN_EXISTS naming what differs.
 */
export async function createRun(store: Store, runId: string, facts: RunFacts): Promise<RunManifest> {
  const { config } = facts;
  const manifest: RunManifest = { ...facts, runId, configDigest: digestJson(config), seed: config.seed, sealed: true };
  if (await createRecord(store, runId, MANIFEST, rendered(manifest))) return manifest;
  const present = await readRun(store, runId);
  const fields = ['configDigest', 'modelDigest', 'discriminatorModelDigest', 'dataDigest'] as const;
  const other = fields.find((field) => present[field] !== manifest[field]);
  if (other === undefined) {
    if (present.sealed) await sealRecord(store, runId, MANIFEST);
    return present;
  }
  const what =
    other === 'configDigest' ? `other ${differing(runIdentity(present.config), config)}` : `another ${other}`;
  throw new GauntletError('RUN_EXISTS', `run ${runId} exists with ${what}`);
}

/** @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT */
export async function readRun(store: Store, runId: string): Promise<RunManifest> {
  const bytes = await readRecord(store, runId, MANIFEST);
  if (bytes === undefined) throw new GauntletError('NOT_FOUND', `no run ${runId} in ${store.url}`);
  const written = parseJson(bytes) as { config?: unknown } | undefined;
  const parsed = runManifestSchema.safeParse(written);
  // as it was written: a field that was not there yet has its default only now
  const whole = parsed.success && parsed.data.configDigest === digestJson(written?.config);
  if (!whole || parsed.data.runId !== runId) {
    throw new GauntletError('CORRUPT_ARTIFACT', `${MANIFEST} of run ${runId} is damaged in ${store.url}`);
  }
  return parsed.data;
}

export async function writeInput(store: Store, runId: string, config: RunConfig): Promise<void> {
  await writeRecord(store, runId, INPUT, rendered(config));
}

/** Undefined for runs of versions that did not record it. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export async function readInput(store: Store, runId: string): Promise<RunConfig | undefined> {
  return readParsed(store, runId, INPUT, runConfigSchema);
}

/** metrics/<step>.json; the same step again (a retry) writes over it. Steps are numbers, or 'number-name'. */
export async function writeMetrics(
  store: Store,
  runId: string,
  step: number | string,
  metrics: Record<string, unknown>,
): Promise<void> {
  await writeRecord(store, runId, `${METRICS}/${step}.json`, rendered(metrics));
}

/** All metrics of a run by step. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export async function readMetrics<T = Record<string, unknown>>(store: Store, runId: string): Promise<T[]> {
  const paths = (await listRecords(store, runId, METRICS)).filter((path) => path.endsWith('.json'));
  const all: T[] = [];
  for (const path of paths.sort(byStep)) {
    const bytes = await readRecord(store, runId, path);
    if (bytes === undefined) continue;
    const metrics = parseJson(bytes);
    if (metrics === undefined) throw new GauntletError('CORRUPT_ARTIFACT', `${path} of run ${runId} is damaged`);
    all.push(metrics as T);
  }
  return all;
}

/** What was asked of a run so far, in order. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export async function readControls(store: Store, runId: string): Promise<ControlMetrics[]> {
  const controls: ControlMetrics[] = [];
  for (const path of await listRecords(store, runId, METRICS)) {
    if (!/^\d+-control-\d+\.json$/.test(stepOf(path))) continue;
    const parsed = controlMetricsSchema.safeParse(
      parseJson((await readRecord(store, runId, path)) ?? new Uint8Array()),
    );
    if (!parsed.success) throw new GauntletError('CORRUPT_ARTIFACT', `${path} of run ${runId} is damaged`);
    controls.push(parsed.data);
  }
  return controls.sort((a, b) => a.index - b.index);
}

/** What a run came to, and a chain of its best checkpoint in full. */
export async function writeResult(store: Store, runId: string, result: RunResult, chain?: ChainView): Promise<void> {
  if (chain !== undefined) await writeRecord(store, runId, CHAIN, rendered(chain));
  await writeRecord(store, runId, RESULT, rendered(result));
}

/** The page of a run; drawn again at any time from the other records. */
export async function writeReport(store: Store, runId: string, page: string): Promise<void> {
  await writeRecord(store, runId, REPORT, page);
}

/** Empty while the run goes on. @throws GauntletError CORRUPT_ARTIFACT naming the file. */
export async function readResult(store: Store, runId: string): Promise<{ result?: RunResult; chain?: ChainView }> {
  const result = await readParsed(store, runId, RESULT, runResultSchema);
  const chain = await readParsed(store, runId, CHAIN, chainViewSchema);
  return { ...(result && { result }), ...(chain && { chain }) };
}

async function readParsed<T>(store: Store, runId: string, path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const bytes = await readRecord(store, runId, path);
  if (bytes === undefined) return undefined;
  const parsed = schema.safeParse(parseJson(bytes));
  if (parsed.success) return parsed.data;
  throw new GauntletError('CORRUPT_ARTIFACT', `${path} of run ${runId} is damaged`);
}

const rendered = (value: unknown): string => `${canonicalJson(value, 2)}\n`;

function byStep(a: string, b: string): number {
  const [left, right] = [Number.parseInt(stepOf(a), 10), Number.parseInt(stepOf(b), 10)];
  return left - right || (a < b ? -1 : 1);
}

function stepOf(path: string): string {
  return path.slice(METRICS.length + 1);
}

function differing(a: object, b: object): string {
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort();
  const other = keys.filter((key) => canonicalJson(left[key] ?? null) !== canonicalJson(right[key] ?? null));
  return `configuration (${other.join(', ')})`;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}
