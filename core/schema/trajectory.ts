// What PPO trains on: one sequence, token-aligned arrays. Entry t belongs to token t; entry 0 is never trained.
import { z } from 'zod';

export const trajectorySchema = z.strictObject({
  tokens: z.array(z.int()), // whole sequence, cut after its last trained token
  mask: z.array(z.number()), // 1 = trained
  oldLogprobs: z.array(z.number()), // of the tempered policy that sampled, from the scoring graph
  advantage: z.number(), // one per sequence (group-normalised)
  reward: z.number().optional(), // of the whole sequence, where advantages are estimated token by token (GAE)
  advantages: z.array(z.number()).optional(), // one per token (GAE); takes the place of `advantage`
  referenceLogprobs: z.array(z.number()).optional(), // of the base, adapter off: for the KL penalty
  oldValues: z.array(z.number()).optional(), // of the value head when the row was sampled, as Engine.values gives them
  returns: z.array(z.number()).optional(), // what the value head learns
});
export type Trajectory = z.infer<typeof trajectorySchema>;

export const policyStatsSchema = z.strictObject({
  loss: z.number(), // what is minimised, all terms together; the other fields are means over trained tokens
  ratio: z.number(), // mean
  approxKl: z.number(), // mean of (ratio - 1) - log ratio
  clipFraction: z.number(),
  entropy: z.number(), // mean of -log p of the sampled tokens
  gradNorm: z.number(), // before clipping
  tokens: z.int(), // trained tokens
  policyLoss: z.number().optional(), // of the clipped surrogate alone; where the loss has further terms
  exactEntropy: z.number().optional(), // of the tempered policy's whole distribution; with an entropy bonus
  kl: z.number().optional(), // to the reference, k3 estimate; with a KL penalty
  valueLoss: z.number().optional(), // ½ · squared error, clipped; with a value head
  valueClipFraction: z.number().optional(), // values that moved out of their clip range; with a value head
  explainedVariance: z.number().optional(), // 1 − Var(returns − values) / Var(returns); absent where returns are equal
});
export type PolicyStats = z.infer<typeof policyStatsSchema>;
