// Problems, model and adapters for solving: those of a checkpoint's run, or the base model with a preset's settings.

import { z } from 'zod';
import { GauntletError } from '../core/errors.js';
import { resolveConfig } from '../core/presets.js';
import type { RunConfig } from '../core/schema/config.js';
import { SPLITS } from '../core/schema/problem.js';
import { CHECKPOINT_FILES, type Checkpoint, loadCheckpoint } from '../store/checkpoints.js';
import { readRun } from '../store/runs.js';
import { writeAdapter } from './artifacts.js';
import type { Scope } from './scope.js';
import type { PrepareSolvingOutput, SolveProblemsInput } from './types.js';

const solveInputSchema = z.strictObject({
  source: z.string().optional(),
  split: z.enum(SPLITS).optional(),
  limit: z.int().positive().optional(),
  preset: z.string().optional(),
  model: z.string().optional(),
  checkpoint: z.strictObject({ runId: z.string(), name: z.string() }).optional(),
  samples: z.int().positive().optional(),
  temperature: z.number().nonnegative().optional(),
  tests: z.boolean().optional(),
  seed: z.int().nonnegative().optional(),
}) satisfies z.ZodType<SolveProblemsInput>;

export async function prepareSolving(scope: Scope, given: SolveProblemsInput): Promise<PrepareSolvingOutput> {
  const input = solveInputSchema.parse(given);
  const { store, deps } = scope;
  const { checkpoint } = input;
  const loaded = checkpoint ? await loadCheckpoint(store, checkpoint.runId, checkpoint.name) : undefined;
  const config = await solvingConfig(scope, input);
  const engine = await deps.engine(config.model);
  const set = await deps.loadProblems(config.problems);
  const split = input.split ?? (config.problems === 'tiny' ? 'test' : undefined);
  const all = split ? set[split] : [...set.train, ...set.validation, ...set.test];
  const test = all.slice(0, input.limit ?? all.length);
  if (test.length === 0) throw new GauntletError('BAD_INPUT', `${config.problems}: no problems to solve`);
  const { config: adapterConfig } = await writeAdapter(store, engine, engine.initAdapter(config.lora, 0));
  const adapter = async (path: string): Promise<{ adapter?: string }> =>
    loaded ? { adapter: await store.putBlob(fileOf(loaded, path)) } : {};
  return {
    run: {
      runId: checkpoint?.runId ?? 'base',
      model: config.model,
      modelDigest: engine.info.digest,
      config: await store.putJson(config),
      problems: await store.putJson({ train: [], validation: [], test }),
      adapterConfig,
    },
    problems: test.length,
    generator: await adapter(CHECKPOINT_FILES.generatorAdapter),
    discriminator: await adapter(CHECKPOINT_FILES.discriminatorAdapter),
  };
}

/** The settings of the checkpoint's run, with the problems, draws and temperature that were asked for. */
async function solvingConfig(scope: Scope, input: SolveProblemsInput): Promise<RunConfig> {
  const fields = {
    problems: input.source ?? 'tiny',
    ...(input.model === undefined ? {} : { model: input.model }),
    ...(input.seed === undefined ? {} : { seed: input.seed }),
  };
  const { checkpoint } = input;
  if (!checkpoint) return resolveConfig({ ...fields, preset: input.preset });
  return { ...(await readRun(scope.store, checkpoint.runId)).config, ...fields };
}

function fileOf(checkpoint: Checkpoint, path: string): Uint8Array {
  const bytes = checkpoint.files.get(path);
  if (bytes) return bytes;
  throw new GauntletError('BAD_CHECKPOINT', `${checkpoint.metadata.name}: ${path} is missing`);
}
