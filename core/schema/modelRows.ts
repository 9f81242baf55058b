// Inputs of `gauntlet model`: rows of JSON lines and the configuration of one update. Arrays are aligned with tokens.
// Nothing predicts the first token, so entry 0 of prediction arrays is ignored.
import { z } from 'zod';

const tokens = z.array(z.int('must be a token id, a whole number')).min(1, 'there are no tokens');

/** One entry per token. Entry 0 is replaced with 0. */
const aligned = <T extends z.ZodType>(entry: T) =>
  z
    .array(z.unknown())
    .transform((values) => values.map((value, t) => (t === 0 ? 0 : value)))
    .pipe(z.array(entry));
const perToken = aligned(z.number('a finite number is needed'));

/** `gauntlet model logprobs` */
export const scoreRowSchema = z.object({ tokens });
export type ScoreRow = z.infer<typeof scoreRowSchema>;

/** `gauntlet model generate`: either tokens or messages. */
export const promptRowSchema = z
  .object({
    tokens: tokens.optional(),
    messages: z
      .array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
      .min(1, 'there are no messages')
      .refine((turns) => turns.at(-1)?.role !== 'assistant', 'the last one must not be the assistant’s')
      .optional(),
  })
  .refine((row) => (row.tokens === undefined) !== (row.messages === undefined), 'needs either tokens or messages');

const mask = aligned(z.literal([0, 1], 'must be 0 or 1')); // 1 = trained

/** `gauntlet model update --loss sft` */
export const supervisedRowSchema = z.object({ tokens, mask });

/** `gauntlet model update`. Lengths are checked after the model is opened. */
export const updateRowSchema = z.object({
  tokens,
  mask,
  oldLogprobs: perToken, // of the policy that sampled
  advantages: perToken,
  referenceLogprobs: perToken.optional(), // of the base; required with klCoefficient
  oldValues: perToken.optional(), // of the value head; required with valueClip
  returns: perToken.optional(), // targets of the value head; required with valueCoefficient
});

const coefficient = z.number().nonnegative();
const beta = z.number().min(0).lt(1);

/** `gauntlet model update --config`. */
export const updateConfigSchema = z.strictObject({
  learningRate: z.number().nonnegative(),
  weightDecay: coefficient.default(0.01),
  clip: z.number().positive().default(0.2), // ε of the clipped surrogate
  maxGradNorm: z.number().positive().nullable().default(1), // null: no clipping
  betas: z.tuple([beta, beta]).default([0.9, 0.999]),
  eps: z.number().positive().default(1e-8),
  temperature: z.number().positive().default(1), // log-probs are those of softmax(logits / temperature)
  clipHigh: z.number().positive().optional(), // ε above 1; absent: clip
  average: z.enum(['token', 'sequence']).default('token'),
  entropyBonus: coefficient.default(0),
  klCoefficient: coefficient.default(0), // of the penalty against referenceLogprobs
  valueCoefficient: coefficient.default(0), // of the value head's loss
  valueClip: z.number().positive().optional(),
  dropout: z.number().min(0).lt(1).default(0), // of the LoRA inputs
  seed: z.int().nonnegative().default(0), // of the dropout mask, combined with the step number
});
export type UpdateConfig = z.infer<typeof updateConfigSchema>;
