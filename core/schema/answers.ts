// How many answers of a role tell nothing about its skill, and what a person can change about it.
import { z } from 'zod';
import { roleSchema } from './chain.js';

const rate = z.number().min(0).max(1);

/** The answers of one role. A prompt that does not fit has no answer, so it is neither cut nor empty. */
export const answerSharesSchema = z.strictObject({
  answers: z.int().positive(), // includes unanswered prompts
  cutRate: rate, // share that the limit of tokens or the end of the context cuts
  emptyRate: rate, // share without text
  unfitRate: rate, // share whose prompt fills the context, so that nothing was sampled
});
export type AnswerShares = z.infer<typeof answerSharesSchema>;

export const warningSchema = z.strictObject({
  role: roleSchema,
  /**
   * Answers are cut by a limit or by the end of the context, prompts do not fit, answers are empty, or no row is trained. The
   * others are alarms, see core/run/alarms.ts.
   */
  kind: z.enum(['cut', 'context', 'unfit', 'empty', 'untrained', 'literal', 'length', 'term', 'validity', 'faults']),
  field: z.string(), // the configuration field to change
  message: z.string(),
});
export type Warning = z.infer<typeof warningSchema>;
