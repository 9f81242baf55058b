// Counts answers that tell nothing about the skill of a role, and says what a person can change about this.
import { z } from 'zod';
import { roleSchema } from './chain.js';

const rate = z.number().min(0).max(1);

/** The answers of one role. A prompt that does not fit has no answer, so it is neither cut nor empty. */
export const answerSharesSchema = z.strictObject({
  answers: z.int().positive(), // includes unanswered prompts
  cutRate: rate, // share of answers that the limit of tokens or the end of the context cuts
  emptyRate: rate, // share of answers without text
  unfitRate: rate, // share of prompts that fill the context, so that nothing was sampled
});
export type AnswerShares = z.infer<typeof answerSharesSchema>;

export const warningSchema = z.strictObject({
  role: roleSchema,
  /**
   * The first five kinds: a limit or the end of the context cuts answers, prompts do not fit, answers are empty, or no row is
   * trained. The other kinds are alarms, see core/run/alarms.ts.
   */
  kind: z.enum(['cut', 'context', 'unfit', 'empty', 'untrained', 'literal', 'length', 'term', 'validity', 'faults']),
  field: z.string(), // the configuration field to change
  message: z.string(),
});
export type Warning = z.infer<typeof warningSchema>;
