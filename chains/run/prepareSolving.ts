// Problems, model and adapters for solving: from a checkpoint, or the base model with the settings of a preset.
import { z } from 'zod';
import { GauntletError } from '../../core/base/errors.js';
import { RandomStream } from '../../core/base/random.js';
import { merged } from '../../core/config/objects.js';
import { resolveConfig } from '../../core/config/presets.js';
import { knowsMarkers, PROMPTS } from '../../core/prompts/prompts.js';
import { hasHiddenTests } from '../../core/rewards/suite.js';
import type { Role, Stage } from '../../core/schema/chain.js';
import { adapterRole, modelOf, type RunConfig, runIdentity } from '../../core/schema/config.js';
import { isBuiltIn, type Rejected } from '../../core/schema/problem.js';
import type { BaseRef, RunRef, SamplingPolicy } from '../../core/schema/runRef.js';
import { solveProblemsInputSchema } from '../../core/schema/solving.js';
import type { PrepareSolvingInput, PrepareSolvingOutput } from '../../method/prepare.js';
import { CHECKPOINT_FILES, type Checkpoint, loadCheckpoint } from '../../store/checkpoints.js';
import { readConfigAt } from '../../store/runs.js';
import { adapterShape, readProblems, writeAdapter } from '../artifacts.js';
import { openReaders, partByFit } from '../sample/problemFit.js';
import { withModelDefaults } from '../sample/sampling.js';
import type { Scope } from '../scope.js';
import { loadAnswered } from './loadAnswered.js';
import { frozenAdapters } from './origin.js';
import { withoutQuarantined } from './quarantineProblems.js';

const inputSchema = solveProblemsInputSchema.extend({
  run: z.custom<RunRef>().optional(),
  measures: z.boolean().optional(),
  gateOf: z.string().optional(),
});

export async function prepareSolving(scope: Scope, raw: PrepareSolvingInput): Promise<PrepareSolvingOutput> {
  const input = inputSchema.parse(raw);
  const { config, run, generator, discriminator } = await choosePolicies(scope, input);
  const unfit: Rejected[] = [];
  const loaded = input.run
    ? (await readProblems(scope.store, input.run.problems)).set
    : await loadAnswered(scope, config, (one) => unfit.push(one));
  const { measures, gateOf, limit } = input;
  const set = gateOf === undefined ? loaded : await withoutQuarantined(scope.store, gateOf, loaded);
  const split = input.split ?? (isBuiltIn(config.problems) ? 'test' : undefined);
  const all = split ? set[split] : [...set.train, ...set.validation, ...set.test];
  const draws = measures && limit !== undefined;
  const { generator: reader, discriminator: testReader } = await openReaders(scope, config);
  const readers = { generator: reader, ...((input.tests ?? measures) && { discriminator: testReader }) };
  // if a run solves at its end, it has already left out the problems that do not fit
  const { fitting, unfit: long } = input.run
    ? { fitting: all, unfit: [] }
    : await partByFit(all, {
        readers,
        config,
        most: draws ? undefined : limit,
        onProgress: (done) => scope.heartbeat({ done }),
      });
  unfit.push(...long);
  const test = draws ? new RandomStream('measured', limit).sample(fitting, limit) : fitting.slice(0, limit);
  if (test.length === 0) {
    const [first] = unfit;
    const reason =
      first && `: ${first.id}: ${first.reason}${unfit.length > 1 ? ` (and ${unfit.length - 1} more)` : ''}`;
    throw new GauntletError('BAD_INPUT', `${config.problems}: no problems to solve${reason ?? ''}`);
  }
  return {
    run: { ...run, problems: await scope.store.putJson({ train: [], validation: [], test }) },
    stages: config.stages,
    problems: test.length,
    hasHidden: test.some(hasHiddenTests),
    ...(unfit.length > 0 && { skipped: await scope.store.putJson(unfit) }),
    temperature: config.evaluation.temperature,
    generator,
    discriminator,
  };
}

/** The settings, models and adapters of both roles: everything but problems. */
export interface ChosenPolicies extends Record<Role, SamplingPolicy> {
  config: RunConfig;
  run: Omit<RunRef, 'problems'>;
}

/**
 * @param codeAlone whether a public model writes only the code, and tests without expected values, as in the presets: models of
 * this size know few answers
 */
export async function choosePolicies(
  scope: Scope,
  input: PrepareSolvingInput,
  codeAlone = input.measures === true,
): Promise<ChosenPolicies> {
  const { store, deps } = scope;
  const { checkpoint } = input;
  const loaded = checkpoint ? await loadCheckpoint(store, checkpoint.runId, checkpoint.name) : undefined;
  const trained = input.untrained ? undefined : loaded;
  const given = await solvingConfig(scope, input, loaded);
  const engine = await deps.engine(given.model, given.engine);
  const isPublic = !checkpoint && input.preset === undefined && !knowsMarkers(engine); // the tiny preset does not suit these models
  const stages = input.stages ?? (codeAlone ? ([5] satisfies Stage[]) : undefined);
  const fitting = isPublic ? await solvingConfig(scope, { ...input, preset: 'custom', stages }, undefined) : given;
  const config = withModelDefaults(fitting, engine.info);
  if (isPublic && codeAlone) config.discriminator = { ...config.discriminator, expected: 'reference' };
  const base = async (role: Role): Promise<BaseRef> => {
    const model = modelOf(config, role);
    const engine = await deps.engine(model, config.engine);
    if (trained) checkBase(trained, config, role, engine.info.digest);
    const { config: adapterConfig } = await writeAdapter(store, engine, engine.initAdapter(adapterShape(config), 0));
    return { model, modelDigest: engine.info.digest, adapterConfig };
  };
  const policy = async (role: Role): Promise<SamplingPolicy> => {
    if (!trained) return {};
    const own = adapterRole(config, role);
    const adapter = await store.putBlob(fileOf(trained, CHECKPOINT_FILES[`${own}Adapter`]));
    const frozen = await frozenAdapters(store, trained, own);
    return { adapter, frozen };
  };
  return {
    config,
    run: {
      runId: checkpoint?.runId ?? 'base',
      bases: { generator: await base('generator'), discriminator: await base('discriminator') },
      engine: config.engine,
      config: await store.putJson(runIdentity(config)),
    },
    generator: await policy('generator'),
    discriminator: await policy('discriminator'),
  };
}

/** An adapter fits only the weights that it was trained on. @throws GauntletError BAD_MODEL */
function checkBase({ metadata }: Checkpoint, config: RunConfig, role: Role, digest: string): void {
  const { runId, name, modelDigest, discriminatorModelDigest = modelDigest } = metadata;
  if (digest === (role === 'generator' ? modelDigest : discriminatorModelDigest)) return;
  const hasOwn = role === 'discriminator' && config.discriminator.model !== null;
  throw new GauntletError(
    'BAD_MODEL',
    `${modelOf(config, role)}: not the model that the ${role} of ${runId}/${name} was trained on; ${hasOwn ? 'put that model in its place' : 'name that model with --model'}`,
  );
}

/** The settings of the run when it wrote the checkpoint, with the given problems, model and seed. */
async function solvingConfig(
  scope: Scope,
  input: PrepareSolvingInput,
  checkpoint: Checkpoint | undefined,
): Promise<RunConfig> {
  const { maxNewTokens } = input.prompts ? PROMPTS[input.prompts] : {};
  const fields = {
    problems: input.source ?? 'tiny',
    ...(input.model === undefined ? {} : { model: input.model }),
    ...(input.prompts && { prompts: input.prompts }),
    ...(maxNewTokens && { sampling: { maxNewTokens } }),
    ...(input.templateArguments && { templateArguments: input.templateArguments }),
    ...(input.seed === undefined ? {} : { seed: input.seed }),
    ...(input.quantization && { engine: { quantization: input.quantization } }),
    ...(input.stages && { stages: input.stages, schedule: { stages: input.stages } }),
    ...(input.run && { engine: input.run.engine }), // the manifest does not have the settings of the device
  };
  if (!checkpoint) return resolveConfig({ ...fields, preset: input.preset });
  const { templateArguments, ...config } = await readConfigAt(scope.store, checkpoint.metadata);
  return merged({ ...config, ...(!input.templateArguments && { templateArguments }) }, fields) as unknown as RunConfig;
}

function fileOf(checkpoint: Checkpoint, path: string): Uint8Array {
  const bytes = checkpoint.files.get(path);
  if (bytes) return bytes;
  throw new GauntletError('BAD_CHECKPOINT', `${checkpoint.metadata.name}: ${path} is missing`);
}
