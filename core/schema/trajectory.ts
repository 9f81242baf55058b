// What PPO trains on: one sequence, token-aligned arrays. Entry t belongs to token t; entry 0 is never trained.
import { z } from 'zod';

export const trajectorySchema = z.strictObject({
  tokens: z.array(z.int()), // whole sequence, cut after its last trained token
  mask: z.array(z.number()), // 1 = trained
  oldLogprobs: z.array(z.number()), // of the tempered policy that sampled, from the scoring graph
  advantage: z.number(), // one per sequence (group-normalised)
  advantages: z.array(z.number()).optional(), // one per token (GAE); takes the place of `advantage`
  referenceLogprobs: z.array(z.number()).optional(), // of the base, adapter off: for the KL penalty
  oldValues: z.array(z.number()).optional(), // of the value head when the row was sampled
  returns: z.array(z.number()).optional(), // what the value head learns
});
export type Trajectory = z.infer<typeof trajectorySchema>;

export const policyStatsSchema = z.strictObject({
  loss: z.number(),
  ratio: z.number(), // mean
  approxKl: z.number(), // mean of (ratio - 1) - log ratio
  clipFraction: z.number(),
  entropy: z.number(), // mean of -log p of the sampled tokens
  gradNorm: z.number(), // before clipping
  tokens: z.int(), // trained tokens
});
export type PolicyStats = z.infer<typeof policyStatsSchema>;
