// Beginning a run at a checkpoint of another: a fork goes on where that one was, a nightly run trains on from the best so
// far. Which checkpoint it was is fixed in the manifest when the run is first prepared.
import { z } from 'zod';
import { GauntletError } from '../core/errors.js';
import { isTooDeep } from '../core/nesting.js';
import { planStage, replan } from '../core/schedule.js';
import { ROLES, type Role, roleSchema } from '../core/schema/chain.js';
import { digestSchema } from '../core/schema/checkpoint.js';
import { adapterRole, type RunConfig } from '../core/schema/config.js';
import { testCaseSchema } from '../core/schema/problem.js';
import { canonicalJson } from '../store/canonicalJson.js';
import { CHECKPOINT_FILES, type Checkpoint, loadCheckpoint, readPointer } from '../store/checkpoints.js';
import { type RunManifest, readRun } from '../store/runs.js';
import type { Store } from '../store/store.js';
import { type Memory, modelDigests, readConfig, roleState } from './artifacts.js';
import type { Origin, PolicyState, RoleState, RunRef } from './types.js';

type Start = NonNullable<RunConfig['start']>;

/**
 * The checkpoint that a run begins at; undefined where no run of the pattern has one yet. A run that was prepared before
 * keeps what it found then.
 * @throws GauntletError NOT_FOUND | BAD_CHECKPOINT
 */
export async function findOrigin(store: Store, runId: string, start: Start): Promise<Checkpoint | undefined> {
  const known = await manifestOf(store, runId);
  if (known) return known.origin && loadCheckpoint(store, known.origin.run, known.origin.checkpoint);
  if (!start.run.endsWith('*')) return loadCheckpoint(store, start.run, start.checkpoint);
  const run = await bestRun(store, start.run.slice(0, -1), runId);
  return run === undefined ? undefined : loadCheckpoint(store, run, start.checkpoint);
}

export const originRef = ({ metadata }: Checkpoint): NonNullable<RunManifest['origin']> => ({
  run: metadata.runId,
  checkpoint: metadata.name,
  digest: metadata.digest,
});

async function manifestOf(store: Store, runId: string): Promise<RunManifest | undefined> {
  try {
    return await readRun(store, runId);
  } catch (error) {
    if (error instanceof GauntletError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** Of the runs whose id begins so, the one whose best checkpoint scores highest (of equal ones the first by id). */
async function bestRun(store: Store, prefix: string, except: string): Promise<string | undefined> {
  let best: { run: string; score: number } | undefined;
  for (const run of await store.listRuns()) {
    if (!run.startsWith(prefix) || run === except) continue;
    const pointer = await readPointer(store, run, 'checkpoint_best');
    if (pointer && (best === undefined || pointer.score > best.score)) best = { run, score: pointer.score };
  }
  return best?.run;
}

/** The states of a checkpoint as those that a run begins with. @throws GauntletError BAD_CHECKPOINT where they do not fit */
export async function takeOver(
  store: Store,
  checkpoint: Checkpoint,
  run: RunRef,
  config: RunConfig,
): Promise<{ state: PolicyState; memory: string; origin: Origin }> {
  refuseOther(checkpoint, run, config);
  const state = Object.fromEntries(
    await Promise.all(ROLES.map(async (role) => [role, await stateOf(store, checkpoint, adapterRole(config, role))])),
  ) as PolicyState;
  const memory: Memory = {
    pool: jsonOf(checkpoint, CHECKPOINT_FILES.pool, poolSchema),
    archive: jsonOf(checkpoint, CHECKPOINT_FILES.archive, archiveSchema),
  };
  return { state, memory: await store.putJson(memory), origin: await positionOf(store, checkpoint, config) };
}

/** Adapters of another base or shape do not fit. */
function refuseOther(checkpoint: Checkpoint, run: RunRef, config: RunConfig): void {
  const { metadata } = checkpoint;
  const fail = (what: string): never => {
    throw new GauntletError('BAD_CHECKPOINT', `start: ${metadata.name} of run ${metadata.runId} ${what}`);
  };
  const { modelDigest, discriminatorModelDigest } = modelDigests(run);
  if (metadata.modelDigest !== modelDigest) fail('is of another model');
  if (metadata.discriminatorModelDigest !== discriminatorModelDigest) fail('has another discriminator model');
  for (const role of ROLES) {
    const path = CHECKPOINT_FILES[`${adapterRole(config, role)}Config`];
    const { r, lora_alpha } = jsonOf(checkpoint, path, adapterSchema);
    if (r !== config.lora.rank || lora_alpha !== config.lora.alpha) {
      fail(`has lora.rank ${r} and lora.alpha ${lora_alpha}, the run ${config.lora.rank} and ${config.lora.alpha}`);
    }
    const hasHead = checkpoint.files.has(CHECKPOINT_FILES[`${adapterRole(config, role)}ValueHead`]);
    if (hasHead !== (config.advantage.estimator === 'gae')) {
      fail(`${hasHead ? 'has' : 'has no'} value head, which is for advantage.estimator gae`);
    }
  }
}

async function stateOf(store: Store, { files, metadata }: Checkpoint, role: Role): Promise<RoleState> {
  const put = async (part: 'Adapter' | 'ValueHead' | 'Optimizer'): Promise<string | undefined> => {
    const bytes = files.get(CHECKPOINT_FILES[`${role}${part}`]);
    return bytes && store.putBlob(bytes);
  };
  const [weights, valueHead, optimizer] = [await put('Adapter'), await put('ValueHead'), await put('Optimizer')];
  if (!weights || !optimizer) {
    throw new GauntletError('BAD_CHECKPOINT', `${metadata.name} of run ${metadata.runId} has no ${role}`);
  }
  return roleState({ weights, ...(valueHead && { valueHead }) }, optimizer);
}

/** A whole schedule begins anew; the rest of one goes on after the checkpoint, by the run's own N and K. */
async function positionOf(store: Store, checkpoint: Checkpoint, config: RunConfig): Promise<Origin> {
  if (config.start?.schedule !== 'rest') return { step: 0, stage: 0, next: 0 };
  const { metadata } = checkpoint;
  const { step, stage } = metadata;
  if (stage === 0) return { step, stage, next: 0 };
  const { next, plan } = jsonOf(checkpoint, CHECKPOINT_FILES.training, trainingSchema);
  const planned = plan ?? planStage(await readConfig(store, { config: metadata.configDigest }));
  const going = replan(planned.slice(0, next), config);
  const isGiven = canonicalJson(going) === canonicalJson(planStage(config));
  return { step, stage, next, ...(isGiven ? {} : { plan: going }) };
}

/** Digests say that nothing changed, not that it was ever right: a checkpoint may be somebody else's. */
function jsonOf<T>({ files, metadata }: Checkpoint, path: string, schema: z.ZodType<T>): T {
  const fail = (what: string): never => {
    throw new GauntletError('BAD_CHECKPOINT', `${metadata.name} of run ${metadata.runId}: ${path} ${what}`);
  };
  const bytes = files.get(path) ?? fail('is missing');
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    fail('is not JSON');
  }
  if (isTooDeep(json)) fail('is nested too deep');
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return fail(`is not what it should be: ${[issue?.path.join('.'), issue?.message].filter(Boolean).join(': ')}`);
}

const poolSchema: z.ZodType<Memory['pool']> = z.record(z.string(), z.array(testCaseSchema));
const archiveSchema: z.ZodType<Memory['archive']> = z.object({
  entries: z.array(
    z.object({ problemId: z.string(), chain: z.object({ chains: digestSchema, index: z.int().nonnegative() }) }),
  ),
});
const adapterSchema = z.object({ r: z.number(), lora_alpha: z.number() });
const trainingSchema = z.object({
  next: z.int().nonnegative(),
  plan: z
    .array(
      z.object({
        epoch: z.int().positive(),
        phase: z.enum(['discriminator', 'generator', 'alternating']),
        step: z.int().positive(),
        role: roleSchema,
      }),
    )
    .optional(),
});
