// A PPO training row: one sequence with token-aligned arrays. Entry 0 is never trained.
import { z } from 'zod';

export const trajectorySchema = z.strictObject({
  tokens: z.array(z.int()), // whole sequence, cut after its last trained token
  mask: z.array(z.number()), // 1 = trained
  oldLogprobs: z.array(z.number()), // of the tempered policy that sampled, from the scoring graph
  advantage: z.number(), // of the whole sequence
  advantages: z.array(z.number()).optional(), // one per token, after importance weights; replaces `advantage`
  rolloutLogprobs: z.array(z.number()).optional(), // of the server that sampled, for the importance weights
  referenceLogprobs: z.array(z.number()).optional(), // of the base without adapter, for the KL penalty
});
export type Trajectory = z.infer<typeof trajectorySchema>;

/** One number for each trained token of each trajectory. */
export type TokenNumbers = number[][];

/** Of one sequence, aligned with its tokens; entry 0 is 0. */
export interface TokenScores {
  logprobs: number[];
  entropies: number[]; // nats
}

export const policyStatsSchema = z.strictObject({
  loss: z.number(), // the sum of all terms; other fields are means over trained tokens
  ratio: z.number(), // mean
  approxKl: z.number(), // mean of (ratio - 1) - log ratio
  clipFraction: z.number(),
  entropy: z.number(), // mean of -log p of the sampled tokens
  gradNorm: z.number(), // before clipping
  tokens: z.int(), // trained tokens
  policyLoss: z.number().optional(), // the clipped surrogate, if the loss has other terms
  exactEntropy: z.number().optional(), // of the tempered policy's whole distribution; with an entropy bonus
  kl: z.number().optional(), // to the reference, k3 estimate; with a KL penalty
  // of the server that sampled and the engine; with remote rollouts
  rolloutKl: z.number().optional(), // to the engine's policy, k3 estimate
  rolloutDifference: z.number().optional(), // mean |difference| of log-probs
  truncatedFraction: z.number().optional(), // tokens whose importance weight was truncated
});
export type PolicyStats = z.infer<typeof policyStatsSchema>;
