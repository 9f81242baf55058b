// CodeContests: whole programs. Public tests become baseline tests, private and generated ones hidden tests; the
// reference is the first solution in Python 3.
import { basename } from 'node:path';
import { z } from 'zod';
import { problemSchema, type TestCase } from '../../core/schema/problem.js';
import { definedOnly, FieldProblem, hasFields, type ProblemFormat, parseFields, text, Unusable } from './format.js';
import { STDIO, stdioTest } from './stdio.js';

const PYTHON3: readonly (number | string)[] = [3, 'PYTHON3'];
const testsSchema = z.object({ input: z.array(z.string()), output: z.array(z.string()) });
const recordSchema = z.object({
  name: text,
  description: text,
  difficulty: z.union([z.string(), z.number()]).transform(String).optional(),
  cf_tags: z.array(z.string()).optional(),
  input_file: z.string().nullish(),
  output_file: z.string().nullish(),
  public_tests: testsSchema,
  private_tests: testsSchema.optional(),
  generated_tests: testsSchema.optional(),
  solutions: z.object({ language: z.array(z.union([z.number(), z.string()])), solution: z.array(z.string()) }),
});

export const codecontests: ProblemFormat = {
  name: 'codecontests',
  recognises: (record) => hasFields(record, 'name', 'description', 'public_tests', 'solutions'),
  read: ({ json, file }) => {
    const record = parseFields(recordSchema, json);
    if (record.input_file || record.output_file) throw new Unusable('its programs read and write files of given names');
    const { language, solution } = record.solutions;
    const referenceSolution = solution.find((_, i) => PYTHON3.includes(language[i] ?? ''));
    if (!referenceSolution?.trim()) throw new Unusable('no solution in Python 3');
    return {
      problem: problemSchema.parse(
        definedOnly({
          ...STDIO,
          id: record.name,
          description: record.description.trim(),
          baselineTests: pairs(record.public_tests, 'public_tests'),
          hiddenTests: [
            ...pairs(record.private_tests, 'private_tests'),
            ...pairs(record.generated_tests, 'generated_tests'),
          ],
          referenceSolution,
          difficulty: record.difficulty,
          tags: record.cf_tags?.filter((tag) => tag !== ''),
          source: basename(file),
        }),
      ),
    };
  },
};

function pairs(tests: z.infer<typeof testsSchema> | undefined, field: string): TestCase[] {
  if (!tests) return [];
  const { input, output } = tests;
  if (input.length !== output.length)
    throw new FieldProblem(`field \`${field}\`: ${input.length} inputs, ${output.length} outputs`);
  return input.map((given, i) => stdioTest(given, output[i]!));
}
