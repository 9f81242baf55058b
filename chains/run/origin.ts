// Starts a run from a checkpoint of another run: a fork continues that run, a nightly run continues from the best
// checkpoint so far. The manifest fixes the checkpoint when the run is first prepared.
import { z } from 'zod';
import { GauntletError } from '../../core/base/errors.js';
import { parseAs } from '../../core/base/issues.js';
import { isTooDeep } from '../../core/base/nesting.js';
import type { ReplayBuffer } from '../../core/rewards/archive.js';
import type { MistakeBook } from '../../core/rewards/mistakeBook.js';
import { PHASES, planStage, replan } from '../../core/run/schedule.js';
import { ROLES, type Role, roleSchema, STAGES } from '../../core/schema/chain.js';
import { digestSchema } from '../../core/schema/checkpoint.js';
import { adapterRole, type RunConfig } from '../../core/schema/config.js';
import { testCaseSchema } from '../../core/schema/problem.js';
import type { FrozenAdapters, PolicyState, RoleState, RunRef } from '../../core/schema/runRef.js';
import type { Origin } from '../../method/prepare.js';
import { canonicalJson } from '../../store/canonicalJson.js';
import {
  CHECKPOINT_FILES,
  type Checkpoint,
  loadCheckpoint,
  readPointer,
  stageAdapterFile,
} from '../../store/checkpoints.js';
import { readRecord } from '../../store/records.js';
import { MANIFEST, type RunManifest, readRun } from '../../store/runs.js';
import type { Ref, Store } from '../../store/store.js';
import { modelDigests, readConfig } from '../artifacts.js';
import type { Scope } from '../scope.js';

/**
 * The checkpoint that a run starts from. Undefined if no run matches the pattern or no matching run's checkpoint fits. A run
 * that is prepared again keeps the checkpoint of its manifest.
 * @throws GauntletError NOT_FOUND | BAD_CHECKPOINT
 */
export async function findOrigin(
  { store, deps }: Pick<Scope, 'store' | 'deps'>,
  run: RunRef,
  config: RunConfig,
): Promise<Checkpoint | undefined> {
  const { start } = config;
  if (start === null) return undefined;
  if ((await readRecord(store, run.runId, MANIFEST)) !== undefined) {
    const { origin } = await readRun(store, run.runId);
    return origin && loadCheckpoint(store, origin.run, origin.checkpoint);
  }
  if (!start.run.endsWith('*')) return loadCheckpoint(store, start.run, start.checkpoint);
  const unlessRefused = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof GauntletError) || !REFUSALS.has(error.code)) throw error;
      deps.log?.warn({ run: run.runId }, `skipped: ${error.message}`);
      return undefined;
    }
  };
  const prefix = start.run.slice(0, -1);
  const isScheduled = isOfSchedule(run.runId, prefix);
  const found: { run: string; score: number }[] = [];
  for (const other of await store.listRuns()) {
    if (!other.startsWith(prefix) || other === run.runId) continue;
    if (isScheduled && !isOfSchedule(other, prefix)) continue;
    const pointer = await unlessRefused(() => readPointer(store, other, 'checkpoint_best'));
    if (pointer) found.push({ run: other, score: pointer.score });
  }
  // highest score first, then by id
  for (const { run: other } of found.sort((a, b) => b.score - a.score)) {
    const checkpoint = await unlessRefused(async () => {
      const loaded = await loadCheckpoint(store, other, start.checkpoint);
      checkCompatibility(loaded, run, config);
      return loaded;
    });
    if (checkpoint) return checkpoint;
  }
  return undefined;
}

/** Temporal names a run of the schedule `nightly` after the schedule and the time, as nightly-2026-11-26T03:00:00Z. */
const isOfSchedule = (run: string, prefix: string): boolean =>
  run.startsWith(prefix) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(run.slice(prefix.length));

const REFUSALS: ReadonlySet<string> = new Set(['BAD_CHECKPOINT', 'NOT_FOUND']);

export const originRef = ({ metadata }: Checkpoint): NonNullable<RunManifest['origin']> => ({
  run: metadata.runId,
  checkpoint: metadata.name,
  digest: metadata.digest,
});

/** The initial state of a run from a checkpoint. @throws GauntletError BAD_CHECKPOINT if it does not fit */
export async function loadInitialState(
  store: Store,
  checkpoint: Checkpoint,
  run: RunRef,
  config: RunConfig,
): Promise<{ state: PolicyState; replayBuffer: Ref<ReplayBuffer>; origin: Origin }> {
  checkCompatibility(checkpoint, run, config);
  const isKept = config.adapters === 'per-stage' && config.start?.schedule === 'rest';
  const initial = async (role: Role): Promise<RoleState> => {
    const own = adapterRole(config, role);
    const frozen = isKept ? await frozenAdapters(store, checkpoint, own) : undefined;
    return { ...(await stateOf(store, checkpoint, own)), frozen };
  };
  const state = { generator: await initial('generator'), discriminator: await initial('discriminator') };
  const replayBuffer: ReplayBuffer = {
    pool: jsonOf(checkpoint, CHECKPOINT_FILES.pool, poolSchema),
    archive: jsonOf(checkpoint, CHECKPOINT_FILES.archive, archiveSchema),
    ...(checkpoint.files.has(CHECKPOINT_FILES.book) && { book: jsonOf(checkpoint, CHECKPOINT_FILES.book, bookSchema) }),
  };
  return {
    state,
    replayBuffer: await store.putJson(replayBuffer),
    origin: await positionOf(store, checkpoint, config),
  };
}

const KNOWN_FILES: ReadonlySet<string> = new Set(Object.values(CHECKPOINT_FILES));
const isKnown = (path: string): boolean => KNOWN_FILES.has(path) || /\/stage_\d\//.test(path);

/** Adapters fit only one base model and one shape. Another version of gauntlet may have trained more than adapters. */
function checkCompatibility(checkpoint: Checkpoint, run: RunRef, config: RunConfig): void {
  const { metadata } = checkpoint;
  const fail = (what: string): never => {
    throw new GauntletError('BAD_CHECKPOINT', `start: ${metadata.name} of run ${metadata.runId} ${what}`);
  };
  const { modelDigest, discriminatorModelDigest } = modelDigests(run);
  if (metadata.modelDigest !== modelDigest) fail('has a different model');
  if (metadata.discriminatorModelDigest !== discriminatorModelDigest) fail('has a different discriminator model');
  const other = [...checkpoint.files.keys()].find((path) => !isKnown(path));
  if (other !== undefined) fail(`has ${other}, which this version cannot train: use the version that wrote it`);
  for (const role of ROLES) {
    const path = CHECKPOINT_FILES[`${adapterRole(config, role)}Config`];
    const { r, lora_alpha } = jsonOf(checkpoint, path, adapterSchema);
    if (r !== config.lora.rank || lora_alpha !== config.lora.alpha) {
      fail(
        `has lora.rank ${r} and lora.alpha ${lora_alpha}, but the run has ${config.lora.rank} and ${config.lora.alpha}`,
      );
    }
  }
}

async function stateOf(store: Store, { files, metadata }: Checkpoint, role: Role): Promise<RoleState> {
  const put = async (part: 'Adapter' | 'Optimizer'): Promise<string | undefined> => {
    const bytes = files.get(CHECKPOINT_FILES[`${role}${part}`]);
    return bytes && store.putBlob(bytes);
  };
  const [adapter, optimizer] = [await put('Adapter'), await put('Optimizer')];
  if (!adapter || !optimizer) {
    throw new GauntletError('BAD_CHECKPOINT', `${metadata.name} of run ${metadata.runId} has no ${role}`);
  }
  return { adapter, optimizer };
}

/** The adapters that a role keeps for earlier stages; undefined if there are none. */
export async function frozenAdapters(
  store: Store,
  { files }: Checkpoint,
  role: Role,
): Promise<FrozenAdapters | undefined> {
  const frozen: FrozenAdapters = {};
  for (const stage of STAGES) {
    const bytes = files.get(stageAdapterFile(role, stage));
    if (bytes) frozen[stage] = await store.putBlob(bytes);
  }
  return Object.keys(frozen).length > 0 ? frozen : undefined;
}

/** With `whole`, the schedule begins anew. With `rest`, it continues after the checkpoint, with the new run's N and K. */
async function positionOf(store: Store, checkpoint: Checkpoint, config: RunConfig): Promise<Origin> {
  if (config.start?.schedule !== 'rest') return { step: 0, stage: 0, next: 0 };
  const { metadata } = checkpoint;
  const { step } = metadata;
  const training = jsonOf(checkpoint, CHECKPOINT_FILES.training, trainingSchema);
  const { next, nextStage: stage = metadata.stage, plan, supervisedSteps } = training;
  const position = { step, stage, next, supervisedSteps };
  if (stage === 0) return { ...position, plan };
  const planned = plan ?? planStage(await readConfig(store, { config: metadata.configDigest }));
  const going = replan(planned.slice(0, next), config);
  const isGiven = canonicalJson(going) === canonicalJson(planStage(config));
  return { ...position, plan: isGiven ? undefined : going };
}

/** Digests prove that a file is unchanged, not that it is valid: a checkpoint may come from another program. */
function jsonOf<T>({ files, metadata }: Checkpoint, path: string, schema: z.ZodType<T>): T {
  const place = `${metadata.name} of run ${metadata.runId}: ${path}`;
  const fail = (what: string): never => {
    throw new GauntletError('BAD_CHECKPOINT', `${place} ${what}`);
  };
  const bytes = files.get(path) ?? fail('is missing');
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    fail('is not JSON');
  }
  if (isTooDeep(json)) fail('is nested too deep');
  return parseAs(schema, json, 'BAD_CHECKPOINT', `${place} is invalid: `);
}

const poolSchema: z.ZodType<ReplayBuffer['pool']> = z.record(z.string(), z.array(testCaseSchema));
const bookSchema: z.ZodType<MistakeBook> = z.record(
  z.string(),
  z.array(z.object({ test: testCaseSchema, weight: z.number().positive() })),
);
const archiveSchema: z.ZodType<ReplayBuffer['archive']> = z.object({
  entries: z.array(
    z.object({ problemId: z.string(), chain: z.object({ chains: digestSchema, index: z.int().nonnegative() }) }),
  ),
});
const adapterSchema = z.object({ r: z.number(), lora_alpha: z.number() });
const trainingSchema = z.object({
  next: z.int().nonnegative(),
  nextStage: z.int().min(1).max(5).optional(),
  supervisedSteps: z.int().nonnegative().optional(),
  plan: z
    .array(
      z.object({
        epoch: z.int().positive(),
        phase: z.enum(PHASES),
        step: z.int().positive(),
        role: roleSchema,
      }),
    )
    .optional(),
});
