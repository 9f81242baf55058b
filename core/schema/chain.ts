// One chain of reasoning: an append-only conversation, kept as the very tokens that were sampled.
import { z } from 'zod';

export const STAGES = [1, 2, 3, 4, 5] as const;
export type Stage = (typeof STAGES)[number];
export const stageSchema = z.union([z.literal(1), z.literal(2), z.literal(3), z.literal(4), z.literal(5)]);
export const ROLES = ['generator', 'discriminator'] as const;
export const roleSchema = z.enum(ROLES);
export type Role = z.infer<typeof roleSchema>;

/** One turn: instruction tokens (given), then answer tokens (sampled; they end with eos unless cut by length). */
export const turnSchema = z.strictObject({
  stage: stageSchema,
  promptTokens: z.array(z.int()), // what was appended to the sequence before sampling
  answerTokens: z.array(z.int()),
  text: z.string(), // the answer, decoded without its end token
  truncated: z.boolean(), // ended by the length limit
});
export type Turn = z.infer<typeof turnSchema>;

/** The sequence of a chain is the concatenation of promptTokens and answerTokens over its turns. */
export const chainSchema = z.strictObject({
  problemId: z.string(),
  sample: z.int().nonnegative(), // 0..G-1 in its group
  turns: z.array(turnSchema), // stages 1.. in order
});
export type Chain = z.infer<typeof chainSchema>;

/** One discriminator sample: tests written for one stage of one chain. */
export const testTurnSchema = z.strictObject({
  problemId: z.string(),
  chainSample: z.int().nonnegative(),
  stage: stageSchema,
  sample: z.int().nonnegative(), // 0..G-1 in its group
  promptTokens: z.array(z.int()),
  answerTokens: z.array(z.int()),
  text: z.string(),
  truncated: z.boolean(),
});
export type TestTurn = z.infer<typeof testTurnSchema>;
