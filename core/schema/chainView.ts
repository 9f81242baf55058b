// A readable view of one chain: the answers of all stages, the tests written for them, and the verdicts of the program.
import { z } from 'zod';
import { OUTCOME_NAMES } from '../rewards/outcomes.js';
import { stageSchema } from './chain.js';
import { verdictSchema } from './execution.js';

const outcomeSchema = z.enum(OUTCOME_NAMES);

const termsSchema = z.array(z.strictObject({ name: z.string(), weight: z.number(), share: z.number() }));

export const shownTestSchema = z.strictObject({
  call: z.string(), // 'solve([1, 2], 3)', or the name of a test of the source
  expected: z.string(), // a Python literal, 'illegal input' or 'pass'
  valid: z.boolean(), // whether the reference solution agrees
  verdict: verdictSchema.optional(), // absent: the test is not valid, so it was not executed
});
export type ShownTest = z.infer<typeof shownTestSchema>;

export const chainViewSchema = z.strictObject({
  problemId: z.string(),
  description: z.string(),
  signature: z.string(),
  stages: z.array(
    // views of earlier versions may have fields that were removed
    z.object({
      stage: stageSchema,
      text: z.string(),
      tests: z.array(shownTestSchema),
      lost: z.int(),
    }),
  ),
  baseline: z.array(shownTestSchema),
  rewards: z.strictObject({
    generator: z.number(),
    discriminator: z.array(z.number()), // one per stage with tests
    // absent in views of earlier versions
    scheme: z.string().optional(),
    terms: z.strictObject({ generator: termsSchema, discriminator: z.array(termsSchema) }).optional(), // the rewards are their sums
  }),
  outcomes: z.strictObject({ generator: outcomeSchema, discriminator: z.array(outcomeSchema) }), // one per reward
});
export type ChainView = z.infer<typeof chainViewSchema>;
