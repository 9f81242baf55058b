// Adds to trajectories what PPO needs from the policy before the update: the old log-probs (of the tempered policy, from
// the scoring graph), the base's log-probs for the KL penalty, for GAE the values, advantages and returns, and for remote
// rollouts the importance weights. Entropies are recorded for people to read.
import { whitenAdvantages } from '../../core/rl/advantages.js';
import { generalizedAdvantages } from '../../core/rl/gae.js';
import { type Mismatch, measureMismatch, type ScoredTokens, weightedAdvantages } from '../../core/rl/importance.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { TokenScores, Trajectory } from '../../core/schema/trajectory.js';
import type {
  PartialScores,
  ScoreOldPolicyInput,
  ScoreOldPolicyOutput,
  ScoreShardInput,
  ScoreShardOutput,
  ShardResult,
} from '../../method/types.js';
import { ofTrained, openRole } from '../artifacts.js';
import { trainingTemperature } from '../sample/sampling.js';
import type { Scope } from '../scope.js';
import { readShards } from '../shards.js';

export async function scoreOldPolicy(scope: Scope, input: ScoreOldPolicyInput): Promise<ScoreOldPolicyOutput> {
  const rows = await scope.store.getJson(input.trajectories);
  if (rows.length === 0) return { trajectories: input.trajectories };
  const { config, engine, adapter: read } = await openRole(scope, input.run, input.role);
  const { signal } = scope;
  const adapter = await read(input.adapter, input.valueHead);
  const temperature = trainingTemperature(config);
  const old = input.shards
    ? await joinScores(scope, input.shards)
    : await engine.scores(rows, { adapter, temperature, signal });
  const base = config.ppo.klCoefficient > 0 ? await engine.logprobs(rows, { temperature, signal }) : undefined;
  const values = config.advantage.estimator === 'gae' ? await engine.values(rows, { adapter, signal }) : undefined;
  const scored = rows.map((row, i) => {
    const trained = (entries: number[]): number[] => row.mask.map((bit, t) => (bit ? entries[t]! : 0));
    return {
      ...row,
      oldLogprobs: trained(old[i]!.logprobs),
      referenceLogprobs: base && trained(base[i]!),
      oldValues: values && trained(values[i]!),
    };
  });
  const estimated = values ? withAdvantages(scored, config) : scored;
  const { rows: corrected, mismatch } = config.rollouts ? correct(estimated) : { rows: estimated };
  const entropies = rows.map(({ mask }, i) => ofTrained(old[i]!.entropies, mask));
  return {
    trajectories: await scope.store.putJson(corrected),
    entropies: await scope.store.putJson(entropies),
    mismatch,
  };
}

/** The scores of one shard of the trajectories. */
export async function scoreShard(scope: Scope, input: ScoreShardInput): Promise<ScoreShardOutput> {
  const rows = await scope.store.getJson(input.trajectories);
  const { config, engine, adapter: read } = await openRole(scope, input.run, input.role);
  const options = { temperature: trainingTemperature(config), signal: scope.signal, shard: input.shard };
  const adapter = await read(input.adapter, input.valueHead);
  return { scores: await scope.store.putJson(await engine.scoreShard(rows, { adapter, ...options })) };
}

async function joinScores(scope: Scope, shards: readonly ShardResult<PartialScores>[]): Promise<TokenScores[]> {
  const parts = await readShards(scope, shards);
  return parts[0]!.map((_, i) => parts.find((part) => part[i] !== null)![i]!);
}

/** Truncated importance sampling of tokens that a rollout server sampled. */
function correct(rows: Trajectory[]): { rows: Trajectory[]; mismatch: Mismatch } {
  const scoredTokens = ({ oldLogprobs, rolloutLogprobs, mask }: Trajectory): ScoredTokens => ({
    engine_T: oldLogprobs,
    server_T: rolloutLogprobs ?? oldLogprobs,
    mask_T: mask,
  });
  const corrected = rows.map((row) => {
    const advantages_T = row.advantages ?? row.mask.map((bit) => (bit ? row.advantage : 0));
    return { ...row, advantages: weightedAdvantages(advantages_T, scoredTokens(row)) };
  });
  return { rows: corrected, mismatch: measureMismatch(rows.map(scoredTokens)) };
}

function withAdvantages(rows: Trajectory[], { advantage }: RunConfig): Trajectory[] {
  const estimated = rows.map((row) => {
    const rewards_T = row.mask.map((_, t) => (t === row.mask.length - 1 ? row.reward! : 0)); // the last one is trained
    return { ...row, ...generalizedAdvantages(rewards_T, row.oldValues!, { ...advantage, mask_T: row.mask }) };
  });
  const whitened = whitenAdvantages(estimated, advantage);
  return estimated.map((row, i) => ({ ...row, advantages: whitened[i]! }));
}
