// How a problem's answers are compared with what is expected; core/compare.ts is the rule.
import { z } from 'zod';

export const comparisonSpecSchema = z.strictObject({
  mode: z.enum(['lenient', 'strict']).default('lenient'),
  absolute: z.number().nonnegative().default(1e-9), // tolerance of an expected float; lenient only
  relative: z.number().nonnegative().default(1e-9), // share of the expected float
  /** Order of the answer's outermost list: as it is, any (a multiset), any at every depth, or any and repeats count once. */
  order: z.enum(['exact', 'any', 'any-depth', 'set']).default('exact'),
  /** tokens: an answer that is text equals the expected text word by word, numerals within the tolerance. */
  text: z.enum(['exact', 'tokens']).default('exact'),
});
export type ComparisonSpec = z.output<typeof comparisonSpecSchema>;

/** A mode by its name, or all of it. Stored as written. */
export const comparisonSchema = z.union([z.enum(['lenient', 'strict']), comparisonSpecSchema.partial()]);
export type Comparison = z.infer<typeof comparisonSchema>;
