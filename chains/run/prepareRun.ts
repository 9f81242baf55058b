// Fixes everything that a run depends on: configuration, problems, model, initial adapters and optimizer states. The
// manifest of the run records their digests. The same id with a different configuration is refused.
import { GauntletError } from '../../core/base/errors.js';
import { deriveKey } from '../../core/base/random.js';
import { resolveConfig } from '../../core/config/presets.js';
import { checkPrompts } from '../../core/prompts/prompts.js';
import type { ReplayBuffer } from '../../core/rewards/archive.js';
import type { Role } from '../../core/schema/chain.js';
import { adapterRole, modelOf, type RunConfig, runIdentity } from '../../core/schema/config.js';
import { type ProblemSet, type Rejected, SPLITS } from '../../core/schema/problem.js';
import type { BaseRef, RoleState, RunRef } from '../../core/schema/runRef.js';
import { commitOf } from '../../data/modelFolder.js';
import type { PrepareRunInput, PrepareRunOutput } from '../../method/prepare.js';
import { createRun, readControls, writeInput } from '../../store/runs.js';
import { adapterShape, encodeOptimizerState, modelDigests, writeAdapter } from '../artifacts.js';
import { openReaders, partByFit } from '../sample/problemFit.js';
import { withModelDefaults } from '../sample/sampling.js';
import type { Scope } from '../scope.js';
import { loadAnswered } from './loadAnswered.js';
import { findOrigin, loadInitialState, originRef } from './origin.js';
import { requireFitting } from './quarantineProblems.js';

export async function prepareRun(
  scope: Scope,
  { runId, input, keepsInput }: PrepareRunInput,
): Promise<PrepareRunOutput> {
  const { store, deps } = scope;
  const given = resolveConfig(input);
  const problems = await loadAnswered(scope, given);
  requireSplits(problems, given.problems);
  const { info } = await deps.engine(given.model, given.engine);
  const config = withModelDefaults(seeded(given, runId), info);
  const generator = await initialRole(scope, config, 'generator');
  const discriminator = await initialRole(scope, config, 'discriminator');
  const hasOwnModel = discriminator.folder !== generator.folder;
  const identity = runIdentity(config);
  const run: RunRef = {
    runId,
    bases: { generator: generator.base, discriminator: discriminator.base },
    engine: config.engine,
    config: await store.putJson({ ...identity, start: null }), // the run's state contains its start
    problems: await store.putJson(problems),
  };
  let checkpoint = await findOrigin(scope, run, config);
  let initial = checkpoint && (await loadInitialState(store, checkpoint, run, config)); // fails before the run is created
  const { origin } = await createRun(store, runId, {
    config: identity,
    ...modelDigests(run),
    modelRevision: commitOf(generator.folder),
    discriminatorModelRevision: hasOwnModel ? commitOf(discriminator.folder) : undefined,
    dataDigest: run.problems,
    codeVersion: deps.codeVersion,
    origin: checkpoint && originRef(checkpoint),
  });
  if (origin?.run !== checkpoint?.metadata.runId || origin?.checkpoint !== checkpoint?.metadata.name) {
    // a concurrent attempt created the run from another checkpoint, which is now in its manifest
    checkpoint = await findOrigin(scope, run, config);
    initial = checkpoint && (await loadInitialState(store, checkpoint, run, config));
  }
  if (!keepsInput) await writeInput(store, runId, given);
  const controls = await readControls(store, runId);
  const unfit = await findUnfit(scope, config, problems);
  if (unfit.length > 0) await requireFitting(scope, run, problems, unfit);
  const common = {
    run,
    config,
    ...(unfit.length > 0 && { unfit: await store.putJson(unfit) }),
    searchAttributes: deps.searchAttributes ?? false,
    controls,
  };
  if (initial) return { ...common, ...initial };
  const empty: ReplayBuffer = { pool: {}, archive: { entries: [] } };
  const state = { generator: generator.state, discriminator: discriminator.state };
  return { ...common, state, replayBuffer: await store.putJson(empty) };
}

/** The problems of all splits that do not fit into the models' context. */
async function findUnfit(scope: Scope, config: RunConfig, problems: ProblemSet): Promise<Rejected[]> {
  const readers = await openReaders(scope, config);
  const all = SPLITS.flatMap((split) => problems[split]);
  const onProgress = (done: number): void => scope.heartbeat({ done });
  return (await partByFit(all, { readers, config, onProgress })).unfit;
}

/** The configuration with the seed of this run: runs of a schedule share a configuration, but not a seed. */
export function seeded(config: RunConfig, runId: string): RunConfig {
  return config.seedFromRun ? { ...config, seed: deriveKey('run', runId)[0] } : config;
}

interface InitialRole {
  base: BaseRef;
  state: RoleState;
  folder: string; // the folder of the model
}

/** A role before training: its base, a new adapter (shared in unified mode) and an empty optimizer state. */
async function initialRole(scope: Scope, config: RunConfig, role: Role): Promise<InitialRole> {
  const model = modelOf(config, role);
  const engine = await scope.deps.engine(model, config.engine);
  checkPrompts(config.prompts, model, engine);
  const key = deriveKey(config.seed, 'adapter', adapterRole(config, role));
  const adapter = engine.initAdapter(adapterShape(config), key[0]);
  const { config: adapterConfig, weights } = await writeAdapter(scope.store, engine, adapter);
  const optimizer = await scope.store.putBlob(encodeOptimizerState(engine.newOptimizerState(adapter)));
  return {
    base: { model, modelDigest: engine.info.digest, adapterConfig },
    state: { adapter: weights, optimizer },
    folder: engine.info.path,
  };
}

/** @throws GauntletError BAD_INPUT, because checkpoint selection and reports need validation and test problems */
function requireSplits(problems: ProblemSet, source: string): void {
  if (SPLITS.every((split) => problems[split].length > 0)) return;
  const count = SPLITS.reduce((sum, split) => sum + problems[split].length, 0);
  const bad = (problems.rejected ?? []).map(({ id, reason }) => `${id}: ${reason}`);
  const others = bad.length === 0 ? '' : `; ${bad.length} cannot be used (${bad[0]}${bad.length > 1 ? ', …' : ''})`;
  throw new GauntletError(
    'BAD_INPUT',
    `${source}: training needs at least three problems (train, validation, test), but there are ${count}${others}`,
  );
}
