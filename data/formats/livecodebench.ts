// LiveCodeBench: methods of an interview class, or whole programs. Public tests become baseline tests, private ones hidden
// tests; the latter may be a pickled string, which is read as text and never unpickled. The set has no solutions: the
// reference comes with the record (`reference_solution`) or from --references.
import { basename } from 'node:path';
import { z } from 'zod';
import { GauntletError } from '../../core/errors.js';
import { parsePythonLiteral } from '../../core/parse/literal.js';
import { parseSignature } from '../../core/parse/signature.js';
import type { TestCase } from '../../core/schema/problem.js';
import { callingOf, entryOf, inShape } from '../calling.js';
import { parseJson } from '../exactJson.js';
import { code, hasFields, idText, type ProblemFormat, parseFields, problemOf, text, UnusableRecord } from './format.js';
import { unpackText } from './pickledText.js';
import { withTyping } from './python.js';
import { STDIO, stdioTest } from './stdio.js';

const MAX_TESTS = 10_000; // the largest known problem has some hundred
const testSchema = z.object({ input: z.string(), output: z.string(), testtype: z.enum(['stdin', 'functional']) });
type GivenTest = z.infer<typeof testSchema>;
/** Counted before it is read: a compressed list of millions fits into a megabyte. */
const few = (given: unknown): boolean => !Array.isArray(given) || given.length <= MAX_TESTS;
const tests = z
  .unknown()
  .refine(few, { message: `must have at most ${MAX_TESTS} tests`, abort: true })
  .pipe(z.union([z.string(), z.array(testSchema)]));
const recordSchema = z.object({
  question_id: idText,
  question_title: z.string().optional(),
  question_content: text,
  starter_code: code.default(''),
  difficulty: z.string().optional(),
  platform: z.string().optional(),
  public_test_cases: tests,
  private_test_cases: tests,
  reference_solution: code.optional(),
});

export const livecodebench: ProblemFormat = {
  name: 'livecodebench',
  fields: Object.keys(recordSchema.shape),
  recognises: (record) => hasFields(record, 'question_content', 'public_test_cases', 'private_test_cases'),
  read: ({ json, file }) => {
    const record = parseFields(recordSchema, json);
    const shown = givenTests(record.public_test_cases, 'public_test_cases');
    const hidden = givenTests(record.private_test_cases, 'private_test_cases');
    const kinds = new Set([...shown, ...hidden].map(({ testtype }) => testtype));
    if (kinds.size > 1) throw new UnusableRecord('tests of functions and of whole programs in one problem');
    const { reference_solution = '' } = record;
    const common = {
      id: record.question_id,
      title: record.question_title,
      description: record.question_content.trim(),
      referenceSolution: reference_solution.trim() === '' ? undefined : withTyping(reference_solution),
      difficulty: record.difficulty,
      tags: record.platform === undefined ? undefined : [record.platform],
      source: basename(file),
    };
    const isProgram = kinds.has('stdin');
    const form = isProgram
      ? programOf(shown, hidden)
      : functionOf(record.starter_code, reference_solution, shown, hidden);
    return { problem: problemOf({ ...common, ...form }) };
  },
};

/** Interview sites accept floats within 1e-5. */
const INTERVIEW = { absolute: 1e-5 };

const programOf = (shown: GivenTest[], hidden: GivenTest[]) => ({
  ...STDIO,
  baselineTests: shown.map(({ input, output }) => stdioTest(input, output)),
  hiddenTests: hidden.map(({ input, output }) => stdioTest(input, output)),
});

function functionOf(starter: string, reference: string, shown: GivenTest[], hidden: GivenTest[]) {
  const signature = parseSignature(starter);
  if (!signature) throw new UnusableRecord('field `starter_code`: no `def name(arguments):` in it');
  const [baselineTests, hiddenTests] = [shown.map(functionTest), hidden.map(functionTest)];
  const calling = callingOf(signature, [...baselineTests, ...hiddenTests]);
  return {
    functionSignature: withTyping(starter.trim()),
    entry: entryOf(signature, reference),
    baselineTests: baselineTests.map((test) => inShape(test, calling)),
    hiddenTests: hiddenTests.map((test) => inShape(test, calling)),
    calling,
    comparison: INTERVIEW,
  };
}

/** One JSON argument per line, read as Python literals, which keep long ints and floats. */
function functionTest({ input, output }: GivenTest): TestCase {
  try {
    const args = input.split('\n').filter((line) => line.trim() !== '');
    return { args: args.map(parsePythonLiteral), expected: parsePythonLiteral(output) };
  } catch (error) {
    if (error instanceof GauntletError) throw new UnusableRecord(`a test is not a literal: ${error.message}`);
    throw error;
  }
}

/** A list, the JSON text of one, or base64 of zlib of a pickle of that text. */
function givenTests(given: string | GivenTest[], field: string): GivenTest[] {
  if (Array.isArray(given)) return given;
  if (given.trim() === '') return [];
  let json: unknown;
  try {
    json = parseJson(given.trimStart().startsWith('[') ? given : unpackText(given));
  } catch (error) {
    if (error instanceof UnusableRecord) throw new UnusableRecord(`field \`${field}\`: ${error.message}`);
    throw new UnusableRecord(`field \`${field}\`: is not JSON`);
  }
  if (!few(json)) throw new UnusableRecord(`field \`${field}\`: must have at most ${MAX_TESTS} tests`);
  return parseFields(z.object({ [field]: z.array(testSchema) }), { [field]: json })[field]!;
}
