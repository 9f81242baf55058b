// Fixes everything a run depends on: configuration, problems, model, initial adapters and optimizer states, each by
// digest, written to the run's manifest. The same id with another configuration is refused.
import { GauntletError } from '../core/errors.js';
import { resolveConfig } from '../core/presets.js';
import { deriveKey } from '../core/random.js';
import { emptyArchive } from '../core/rewards/archive.js';
import type { Role } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import { SPLITS } from '../core/schema/problem.js';
import type { ProblemSet } from '../data/problems.js';
import type { Engine } from '../ml/session/engine.js';
import { createRun } from '../store/runs.js';
import { encodeOptimizerState, type Memory, writeAdapter } from './artifacts.js';
import type { Scope } from './scope.js';
import type { PrepareRunInput, PrepareRunOutput, RoleState, RunRef } from './types.js';

export async function prepareRun(scope: Scope, { runId, input }: PrepareRunInput): Promise<PrepareRunOutput> {
  const { store, deps } = scope;
  const config = resolveConfig(input);
  const engine = await deps.engine(config.model);
  const problems = await deps.loadProblems(config.problems);
  requireSplits(problems, config.problems);
  const [generator, discriminator] = [
    await initialState(scope, engine, config, 'generator'),
    await initialState(scope, engine, config, 'discriminator'),
  ];
  const run: RunRef = {
    runId,
    model: config.model,
    modelDigest: engine.info.digest,
    config: await store.putJson(config),
    problems: await store.putJson(problems),
    adapterConfig: generator.config,
  };
  await createRun(store, runId, {
    config,
    modelDigest: run.modelDigest,
    dataDigest: run.problems,
    codeVersion: deps.codeVersion,
  });
  const empty: Memory = { pool: {}, archive: emptyArchive() };
  return {
    run,
    config,
    state: { generator: generator.state, discriminator: discriminator.state },
    memory: await store.putJson(empty),
    searchAttributes: deps.searchAttributes ?? false,
  };
}

async function initialState(
  scope: Scope,
  engine: Engine,
  config: RunConfig,
  role: Role,
): Promise<{ state: RoleState; config: string }> {
  const adapter = engine.initAdapter(config.lora, deriveKey(config.seed, 'adapter', role)[0]);
  const { weights, config: adapterConfig } = await writeAdapter(scope.store, engine, adapter);
  const optimizer = await scope.store.putBlob(encodeOptimizerState(engine.newOptimizerState(adapter)));
  return { state: { adapter: weights, optimizer }, config: adapterConfig };
}

/** @throws GauntletError BAD_INPUT: without validation and test problems nothing could be chosen or reported */
function requireSplits(problems: ProblemSet, source: string): void {
  if (SPLITS.every((split) => problems[split].length > 0)) return;
  const count = SPLITS.reduce((sum, split) => sum + problems[split].length, 0);
  throw new GauntletError(
    'BAD_INPUT',
    `${source}: ${count} problems; training needs at least three (train, validation, test)`,
  );
}
