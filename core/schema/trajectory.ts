// A PPO training row: one sequence with token-aligned arrays. Entry 0 is never trained.
import { z } from 'zod';

export const trajectorySchema = z.strictObject({
  tokens: z.array(z.int()), // the sequence, cut after its last trained token
  mask: z.array(z.number()), // 1 for a trained token
  oldLogprobs: z.array(z.number()), // the scoring graph's log-probs under the tempered policy that sampled
  advantage: z.number(), // one for the whole sequence
  advantages: z.array(z.number()).optional(), // one per token, multiplied by importance weights; replaces `advantage`
  rolloutLogprobs: z.array(z.number()).optional(), // the server's log-probs, which importance weights need
  referenceLogprobs: z.array(z.number()).optional(), // the base model's log-probs, which the KL penalty needs
});
export type Trajectory = z.infer<typeof trajectorySchema>;

/** One number for each trained token of each trajectory. */
export type TokenNumbers = number[][];

/** The scores of one sequence, aligned with its tokens; entry 0 is 0. */
export interface TokenScores {
  logprobs: number[];
  entropies: number[]; // in nats
}

export const policyStatsSchema = z.strictObject({
  loss: z.number(), // the sum of all terms; other fields are means over trained tokens
  ratio: z.number(), // mean of π / π_old
  approxKl: z.number(), // mean of (ratio - 1) - log ratio
  clipFraction: z.number(),
  entropy: z.number(), // mean of -log p of the sampled tokens
  gradNorm: z.number(), // before clipping
  tokens: z.int(), // how many tokens were trained
  policyLoss: z.number().optional(), // the clipped surrogate, if the loss has other terms
  exactEntropy: z.number().optional(), // entropy of the policy's whole distribution; only with an entropy bonus
  kl: z.number().optional(), // k3 estimate of the KL to the base; only with a KL penalty
  // how the server that sampled differs from the engine; only with remote rollouts
  rolloutKl: z.number().optional(), // k3 estimate of the KL to the engine's policy
  rolloutDifference: z.number().optional(), // mean |difference| of log-probs
  truncatedFraction: z.number().optional(), // share of tokens whose importance weight was truncated
});
export type PolicyStats = z.infer<typeof policyStatsSchema>;
