// The environment in which the work of a run is done. A worker compares its own with the run's records before it continues the run.
import { z } from 'zod';

/** sandbox: where programs run. engine: where the models run. */
const partSchema = z.enum(['sandbox', 'engine']);
export type EnvironmentPart = z.infer<typeof partSchema>;

/** A text that is printed in terminals, and may come from the store of somebody else. */
const text = z
  .string()
  .max(10_000)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters');
const texts = z.record(text, text);

const environmentSchema = z.strictObject({
  part: partSchema,
  facts: texts, // what can change a result, such as python: '3.11.2'
  details: texts, // what people may want to know: versions of code and images that usually change no result
});
export type Environment = z.infer<typeof environmentSchema>;

/** environment/<part>-<n>.json: the n-th environment in which the run did this part of its work. */
export const environmentRecordSchema = environmentSchema.extend({
  accepted: z.boolean().optional(), // true if its facts differ from those of the first record, and a person allowed that
  at: z.string(), // ISO 8601
});
export type EnvironmentRecord = z.infer<typeof environmentRecordSchema>;
