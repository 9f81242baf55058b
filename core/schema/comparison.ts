// How answers are compared with expected values. core/comparison/compare.ts implements it.
import { z } from 'zod';

export const comparisonSpecSchema = z.strictObject({
  mode: z.enum(['lenient', 'strict']).default('lenient'),
  absolute: z.number().nonnegative().default(1e-9), // tolerance of an expected float; lenient only
  relative: z.number().nonnegative().default(1e-9), // tolerance as a share of the expected float
  /** Order of the outermost list: exact, any (multiset), any at every depth, or set (duplicates count once). */
  order: z.enum(['exact', 'any', 'any-depth', 'set']).default('exact'),
  /** tokens: compares text word by word, and numbers within the tolerance. tokens-any-case: also ignores case (Yes equals YES). */
  text: z.enum(['exact', 'tokens', 'tokens-any-case']).default('exact'),
  wrapped: z.literal(true).optional(), // an answer is also right if it is a list whose only item is right
});
export type ComparisonSpec = z.output<typeof comparisonSpecSchema>;

/** The name of a mode, or a full specification. */
export const comparisonSchema = z.union([z.enum(['lenient', 'strict']), comparisonSpecSchema.partial()], {
  error: "is neither 'lenient', 'strict', nor an object of their fields",
});
export type Comparison = z.infer<typeof comparisonSchema>;
