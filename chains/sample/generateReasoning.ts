// Samples the next stage of every chain of a batch with the current policy or the base model.
import { deriveKey, extendKey, RandomStream } from '../../core/random.js';
import { type SuccessRates, sampleByDifficulty } from '../../core/rl/curriculum.js';
import type { Chain } from '../../core/schema/chain.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { Problem, ProblemSet } from '../../core/schema/problem.js';
import { type Shard, sliceOf } from '../../core/shards.js';
import type { ChainBatch, GenerateReasoningInput, GenerateReasoningOutput, ShardResult } from '../../method/types.js';
import { openRole, problemOf, readProblems } from '../artifacts.js';
import type { Scope } from '../scope.js';
import { readShards, tokensOf } from '../shards.js';
import { rolloutSampler } from './remoteRollouts.js';
import { type SamplingRow, sampleTurns, samplingFilters, stagePrompt, trainingTemperature } from './sampling.js';

export async function generateReasoning(scope: Scope, input: GenerateReasoningInput): Promise<GenerateReasoningOutput> {
  if (input.shards) return joinChains(scope, input.shards);
  const { role, batchKey, sample } = await openSampling(scope, input);
  const { config, chat } = role;
  const { set, byId } = await readProblems(scope.store, input.run.problems);
  const chains = input.chains
    ? await scope.store.getJson(input.chains)
    : openChains(input.batch, config, set, await readSuccessRates(scope, input), input.shard);
  const isDrawn = ({ sample }: Chain): boolean => sample === 0 || !isShared(input, config);
  const rows = chains.filter(isDrawn).map((chain) => ({
    turns: chain.turns,
    prompt: stagePrompt(chat, config, problemOf(byId, chain.problemId), chain.turns, input.stage),
    key: extendKey(batchKey, chain.problemId, chain.sample, input.stage),
  }));
  const { turns, tokens } = await sample(rows);
  let latest = -1;
  const extended: Chain[] = chains.map((chain) => {
    if (isDrawn(chain)) latest++;
    return { ...chain, turns: [...chain.turns, { stage: input.stage, ...turns[latest]! }] };
  });
  return { chains: await scope.store.putJson(extended), tokens };
}

async function joinChains(scope: Scope, shards: readonly ShardResult<Chain[]>[]): Promise<GenerateReasoningOutput> {
  const parts = await readShards(scope, shards);
  return { chains: await scope.store.putJson(parts.flat()), tokens: tokensOf(shards) };
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
    maxNewTokens: config.sampling.maxNewTokens,
    ...(isTraining ? {} : samplingFilters(config)),
  };
  return {
    role,
    batchKey: deriveKey(...batchPath(input.batch, config)),
    sample: (rows: SamplingRow[]) => sampleTurns(scope, { engine, chat, sampler }, rows, options),
  };
}

/** Whether a group has one turn in common: a counterfactual group differs from the stage in training on. */
const isShared = ({ batch, stage }: GenerateReasoningInput, { credit }: RunConfig): boolean =>
  credit === 'counterfactual' && batch.kind === 'train' && batch.role === 'generator' && stage < batch.position.stage;

/** Empty chains of the batch. Training draws problems with the run's seed; an evaluation of a split always has the same. */
function openChains(
  batch: ChainBatch,
  config: RunConfig,
  set: ProblemSet,
  rates: SuccessRates | undefined,
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
  const { position, draw = { from: 0, count: problems } } = batch;
  const random = new RandomStream(config.seed, 'problems', position.stage, position.step);
  const end = draw.from + draw.count; // the first problems of a longer draw are those of a shorter one
  const drawn = rates ? sampleByDifficulty(set.train, end, rates, random) : random.sample(set.train, end);
  return groups(drawn.slice(draw.from), samples);
}

async function readSuccessRates(
  { store }: Scope,
  { replayBuffer }: GenerateReasoningInput,
): Promise<SuccessRates | undefined> {
  if (replayBuffer === undefined) return undefined;
  const { successRates = {} } = await store.getJson(replayBuffer);
  return successRates;
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
