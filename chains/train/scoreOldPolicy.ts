// Adds to trajectories what PPO needs from the policy before the update: the old log-probs (of the tempered policy, from
// the scoring graph), the base's log-probs for the KL penalty, and for remote rollouts the importance weights. Entropies are
// recorded for people to read.
import { type Mismatch, measureMismatch, type ScoredTokens, weightedAdvantages } from '../../core/rl/importance.js';
import type { TokenScores, Trajectory } from '../../core/schema/trajectory.js';
import type { ShardResult } from '../../method/activity.js';
import type {
  PartialScores,
  ScoreOldPolicyInput,
  ScoreOldPolicyOutput,
  ScoreShardInput,
  ScoreShardOutput,
} from '../../method/train.js';
import { ofTrained, openRole } from '../artifacts.js';
import { trainingTemperature } from '../sample/sampling.js';
import type { Scope } from '../scope.js';
import { readShards } from '../shards.js';

export async function scoreOldPolicy(scope: Scope, input: ScoreOldPolicyInput): Promise<ScoreOldPolicyOutput> {
  const rows = await scope.store.getJson(input.trajectories);
  if (rows.length === 0) return { trajectories: input.trajectories };
  const { config, engine, adapter: read } = await openRole(scope, input.run, input.role);
  const { signal } = scope;
  const adapter = await read(input.adapter);
  const temperature = trainingTemperature(config);
  const joined = input.shards && (await joinScores(scope, input.shards));
  const old = joined?.scores ?? (await engine.scores(rows, { adapter, temperature, signal }));
  const base = config.ppo.klCoefficient > 0 ? await engine.logprobs(rows, { temperature, signal }) : undefined;
  const scored = rows.map((row, i) => {
    const trained = (entries: number[]): number[] => row.mask.map((bit, t) => (bit ? entries[t]! : 0));
    return {
      ...row,
      oldLogprobs: trained(old[i]!.logprobs),
      referenceLogprobs: base && trained(base[i]!),
    };
  });
  const { rows: corrected, mismatch } = config.rollouts ? correct(scored) : { rows: scored };
  const entropies = rows.map(({ mask }, i) => ofTrained(old[i]!.entropies, mask));
  return {
    trajectories: await scope.store.putJson(corrected),
    entropies: await scope.store.putJson(entropies),
    mismatch,
    ...(joined && { earlierSeconds: joined.earlierSeconds }),
  };
}

/** The scores of one shard of the trajectories. */
export async function scoreShard(scope: Scope, input: ScoreShardInput): Promise<ScoreShardOutput> {
  const rows = await scope.store.getJson(input.trajectories);
  const { config, engine, adapter: read } = await openRole(scope, input.run, input.role);
  const options = { temperature: trainingTemperature(config), signal: scope.signal, shard: input.shard };
  const adapter = await read(input.adapter);
  return { scores: await scope.store.putJson(await engine.scoreShard(rows, { adapter, ...options })) };
}

async function joinScores(scope: Scope, shards: readonly ShardResult<PartialScores>[]) {
  const { parts, earlierSeconds } = await readShards(scope, shards);
  const scores: TokenScores[] = parts[0]!.map((_, i) => parts.find((part) => part[i] !== null)![i]!);
  return { scores, earlierSeconds };
}

/** Corrects the advantages of tokens that a rollout server sampled, by truncated importance sampling. */
function correct(rows: Trajectory[]): { rows: Trajectory[]; mismatch: Mismatch } {
  const scoredTokens = ({ oldLogprobs, rolloutLogprobs, mask }: Trajectory): ScoredTokens => ({
    engine_T: oldLogprobs,
    server_T: rolloutLogprobs ?? oldLogprobs,
    mask_T: mask,
  });
  const corrected = rows.map((row) => {
    const advantages_T = row.mask.map((bit) => (bit ? row.advantage : 0));
    return { ...row, advantages: weightedAdvantages(advantages_T, scoredTokens(row)) };
  });
  return { rows: corrected, mismatch: measureMismatch(rows.map(scoredTokens)) };
}
