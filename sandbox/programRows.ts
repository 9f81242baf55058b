// The rows that `gauntlet sandbox run` reads. Each has a program and its tests, as values or as Python source.
import { z } from 'zod';
import { GauntletError } from '../core/base/errors.js';
import { callingSchema } from '../core/schema/calling.js';
import { comparisonSchema } from '../core/schema/comparison.js';
import { someLimitsSchema, type TestStyle } from '../core/schema/execution.js';
import { valueSchema } from '../core/schema/value.js';

export const MODES = ['values', 'assert', 'pytest'] as const;
export type Mode = (typeof MODES)[number];

const common = {
  id: z.string().min(1),
  code: z.string(),
  limits: someLimitsSchema.optional(), // override the limits of the command line
};

export const programRowSchema = z.object({
  ...common,
  entry: z.string().min(1),
  tests: z.array(z.tuple([z.array(valueSchema), valueSchema])).min(1), // each is [arguments, expected]
  comparison: comparisonSchema.default('lenient'),
  calling: callingSchema.optional(),
});
export type ProgramRow = z.input<typeof programRowSchema>;

export const relativePath = z
  .string()
  .min(1)
  .refine((path) => !/^[/\\]|\\|\0|(^|\/)\.{1,2}(\/|$)/.test(path), 'must be a relative path without . and ..');

const sourceRowSchema = z.object({
  ...common,
  entry: z.string().min(1).optional(), // the argument of `check(candidate)`
  test_source: z.string().min(1).optional(), // a row has either this field or `files`
  files: z.record(relativePath, z.string()).optional(), // the texts of the test files by relative path
});
export type SourceRow = z.infer<typeof sourceRowSchema>;

/** @throws GauntletError BAD_INPUT naming the field, and the mode that fits the row */
export function parseProgramRow(row: unknown): z.output<typeof programRowSchema> {
  if (has(row, 'tests') || !(has(row, 'test_source') || has(row, 'files'))) return parseRow(programRowSchema, row);
  throw bad('tests', 'is missing; a row with test_source or files needs --mode assert or pytest');
}

/** @throws GauntletError BAD_INPUT naming the field, and the mode that fits the row */
export function parseSourceRow(row: unknown, mode: TestStyle): SourceRow {
  if (typeof row === 'object' && row !== null && !has(row, 'test_source') && !has(row, 'files'))
    throw bad('test_source', `is missing${has(row, 'tests') ? '; a row with tests needs --mode values' : ''}`);
  const source = parseRow(sourceRowSchema, row);
  if (source.test_source !== undefined && source.files !== undefined)
    throw bad('files', 'cannot be combined with test_source');
  const count = Object.keys(source.files ?? {}).length;
  if (source.files && count === 0) throw bad('files', 'is empty');
  if (mode === 'assert' && count > 1) throw bad('files', `mode assert takes one file, got ${count}`);
  return source;
}

const has = (row: unknown, field: string): boolean => typeof row === 'object' && row !== null && field in row;
const bad = (field: string, message: string): GauntletError => new GauntletError('BAD_INPUT', `${field}: ${message}`);

/** @throws GauntletError BAD_INPUT naming the field */
export function parseRow<S extends z.ZodType>(schema: S, row: unknown): z.output<S> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const field = issue.path.join('.') || 'row';
  if (issue.code === 'invalid_union' && field.startsWith('tests.'))
    throw bad(
      field,
      'is not a value of the tagged codec, such as 1, 0.5, "a", [1], {"t": [1, 2]}, {"d": [["key", 1]]}',
    );
  const isMissing = issue.code === 'invalid_type' && issue.path.length === 1 && !has(row, String(issue.path[0]));
  if (issue.code === 'invalid_key') throw bad(field, issue.issues[0]!.message);
  throw bad(field, isMissing ? 'is missing' : issue.message);
}
