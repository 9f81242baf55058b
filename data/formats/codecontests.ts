// CodeContests: whole programs. Public tests become baseline tests, private and generated ones hidden tests. The reference
// is the first solution in Python 3.
import { basename } from 'node:path';
import { z } from 'zod';
import type { TestCase } from '../../core/schema/problem.js';
import {
  difficulty,
  hasFields,
  idText,
  type ProblemFormat,
  parseFields,
  preferReference,
  problemOf,
  text,
  UnusableRecord,
} from './format.js';
import { STDIO, stdioTest } from './stdio.js';

const PYTHON3: readonly (number | string)[] = [3, 'PYTHON3'];
const testsSchema = z.object({ input: z.array(z.string()), output: z.array(z.string()) });
const recordSchema = z.object({
  name: idText,
  description: text,
  difficulty: difficulty.optional(),
  cf_tags: z.array(z.string()).optional(),
  input_file: z.string().optional(),
  output_file: z.string().optional(),
  public_tests: testsSchema,
  private_tests: testsSchema.optional(),
  generated_tests: testsSchema.optional(),
  solutions: z.object({ language: z.array(z.union([z.number(), z.string()])), solution: z.array(z.string()) }),
});

export const codecontests: ProblemFormat = {
  name: 'codecontests',
  fields: Object.keys(recordSchema.shape),
  recognises: (record) => hasFields(record, 'name', 'description', 'public_tests', 'solutions'),
  read: ({ json, file }) => {
    const inPython = (code: string): object => ({ language: ['PYTHON3'], solution: [code] });
    const record = parseFields(recordSchema, preferReference(json, 'solutions', inPython));
    if (record.input_file || record.output_file)
      throw new UnusableRecord('its programs read and write files of given names');
    const { language, solution } = record.solutions;
    const referenceSolution = solution.find((_, i) => PYTHON3.includes(language[i] ?? ''));
    if (!referenceSolution?.trim()) throw new UnusableRecord('no solution in Python 3');
    const tests = (field: 'public_tests' | 'private_tests' | 'generated_tests'): TestCase[] => {
      const { input, output } = record[field] ?? { input: [], output: [] };
      if (input.length === output.length) return input.map((given, i) => stdioTest(given, output[i]!));
      throw new UnusableRecord(`field \`${field}\`: ${input.length} inputs, ${output.length} outputs`);
    };
    const problem = problemOf({
      ...STDIO,
      comparison: { ...STDIO.comparison, text: 'tokens-any-case' }, // as its own judge
      id: record.name,
      description: record.description.trim(),
      baselineTests: tests('public_tests'),
      hiddenTests: [...tests('private_tests'), ...tests('generated_tests')],
      referenceSolution,
      difficulty: record.difficulty,
      tags: record.cf_tags?.filter((tag) => tag !== ''),
      source: basename(file),
    });
    return { problem };
  },
};
