// Samples the next stage of every chain of a batch with the current policy or the base model.
import { deriveKey, RandomStream } from '../../core/base/random.js';
import { type Shard, sliceOf } from '../../core/run/shards.js';
import type { Chain } from '../../core/schema/chain.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { Problem, ProblemSet } from '../../core/schema/problem.js';
import type { ShardResult } from '../../method/activity.js';
import type { ChainBatch, GenerateReasoningInput, GenerateReasoningOutput } from '../../method/sample.js';
import { openRole, problemOf, readProblems } from '../artifacts.js';
import type { Scope } from '../scope.js';
import { readShards, tokensOf } from '../shards.js';
import { rolloutSampler } from './remoteRollouts.js';
import {
  answerLimits,
  type SamplingRow,
  sampleTurns,
  samplingFilters,
  stageRows,
  trainingTemperature,
} from './sampling.js';

export async function generateReasoning(scope: Scope, input: GenerateReasoningInput): Promise<GenerateReasoningOutput> {
  if (input.shards) return joinChains(scope, input.shards);
  const { role, batchKey, sample } = await openSampling(scope, input);
  const { config } = role;
  const { set, byId } = await readProblems(scope.store, input.run.problems);
  const chains = input.chains
    ? await scope.store.getJson(input.chains)
    : openChains(input.batch, config, set, input.shard);
  const rows = stageRows(role, (id) => problemOf(byId, id), chains, input.stage, batchKey);
  const { turns, tokens } = await sample(rows);
  const extended = chains.map(
    (chain, i): Chain => ({ ...chain, turns: [...chain.turns, { stage: input.stage, ...turns[i]! }] }),
  );
  return { chains: await scope.store.putJson(extended), tokens };
}

async function joinChains(scope: Scope, shards: readonly ShardResult<Chain[]>[]): Promise<GenerateReasoningOutput> {
  const { parts, ...times } = await readShards(scope, shards);
  return { chains: await scope.store.putJson(parts.flat()), tokens: tokensOf(shards), ...times };
}

/** The generator, and how it samples the chains of a batch. */
async function openSampling(scope: Scope, input: GenerateReasoningInput) {
  const role = await openRole(scope, input.run, 'generator');
  const { config, engine, chat, adapter } = role;
  const isTraining = input.batch.kind === 'train';
  const sampler = isTraining ? rolloutSampler(scope, role, input.adapter) : engine;
  const options = {
    adapter: input.adapter === undefined ? undefined : await adapter(input.adapter),
    temperature: batchTemperature(input.batch, config),
    ...answerLimits(config, role, input.stage),
    ...(isTraining ? {} : samplingFilters(config)),
  };
  let tokens = 0;
  const heartbeat = (details: unknown): void => {
    tokens += (details as { tokens: number }).tokens;
    scope.heartbeat({ tokens, shard: input.shard });
  };
  return {
    role,
    batchKey: deriveKey(...batchPath(input.batch, config)),
    sample: (rows: SamplingRow[]) => sampleTurns({ ...scope, heartbeat }, { engine, chat, sampler }, rows, options),
  };
}

/** Empty chains of the batch. Training draws problems with the run's seed; an evaluation of a split always has the same. */
function openChains(
  batch: ChainBatch,
  config: RunConfig,
  set: ProblemSet,
  shard: Shard = { index: 0, of: 1 },
): Chain[] {
  const groups = (problems: Problem[], samples: number): Chain[] =>
    sliceOf(problems, shard).flatMap(({ id }) =>
      Array.from({ length: samples }, (_, sample) => ({ problemId: id, sample, turns: [] })),
    );
  if (batch.kind === 'evaluation') {
    return groups(new RandomStream('evaluation', batch.split).sample(set[batch.split], batch.problems), 1);
  }
  if (batch.kind === 'solve') return groups(set.test, batch.samples);
  const { problems, samples } = config.batch[batch.role];
  const { stage, step } = batch.position;
  return groups(new RandomStream(config.seed, 'problems', stage, step).sample(set.train, problems), samples);
}

/** Evaluation keys do not contain the run's seed, so every policy is measured with the same random draws. */
function batchPath(batch: ChainBatch, config: RunConfig): (string | number)[] {
  if (batch.kind === 'evaluation') return ['evaluation', 'generator', batch.split];
  if (batch.kind === 'solve') return [config.seed, 'solve'];
  const { stage, phase, step } = batch.position;
  return [config.seed, 'generator', batch.role, stage, phase, step];
}

function batchTemperature(batch: ChainBatch, config: RunConfig): number {
  if (batch.kind === 'train') return trainingTemperature(config);
  if (batch.kind === 'solve') return batch.temperature;
  return batch.greedy ? 0 : config.evaluation.temperature;
}
