// The project's own schema, which it reads and writes.
import { basename } from 'node:path';
import { z } from 'zod';
import { nameOf } from '../../core/parse/asserts.js';
import { parseSignature, type Signature } from '../../core/parse/signature.js';
import { callingSchema } from '../../core/schema/calling.js';
import { comparisonSchema } from '../../core/schema/comparison.js';
import { testStyleSchema } from '../../core/schema/execution.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import { readAssertions } from '../assertions.js';
import { ANY_ARGUMENTS, callingOf, entryOf, inShape, shownSignature } from '../calling.js';
import { judgesOf, judgesSchema } from '../checkers.js';
import { ofJsonText, parseJson } from '../exactJson.js';
import { listStylesOf, testOfJson } from '../testForms.js';
import {
  difficulty,
  hasFields,
  idText,
  type ListStyle,
  type ProblemFormat,
  parseFields,
  placed,
  presentFields,
  problemOf,
  program,
  text,
  UnusableRecord,
  withReference,
} from './format.js';
import { calledEntry } from './python.js';

/** A problem as files hold it. Other fields are ignored. */
const recordSchema = z.object({
  id: idText,
  title: z.string().optional(),
  description: text,
  function_signature: program,
  entry: text.optional(),
  baseline_tests: z.array(z.unknown()),
  hidden_tests: z.array(z.unknown()).default([]),
  test_source: text.optional(),
  test_style: testStyleSchema.optional(),
  ...judgesSchema.shape,
  reference_solution: program.optional(),
  reasoning: z.array(text).length(4, 'must have 4 texts, those of stages 1 to 4').optional(),
  difficulty: difficulty.optional(),
  tags: z.array(z.string()).optional(),
  source: z.string().optional(),
  comparison: comparisonSchema.optional(),
  calling: callingSchema.optional(),
});

/** The fields that records and problems share, in the order in which they are written. */
const FIELDS = (
  'id title description function_signature entry baseline_tests hidden_tests test_source test_style validator checker ' +
  'reference_solution reasoning difficulty tags source comparison calling'
).split(' ') as (keyof z.infer<typeof recordSchema>)[];
const propertyOf = (field: string): string => field.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

export const gauntlet: ProblemFormat = {
  name: 'gauntlet',
  fields: () => Object.keys(recordSchema.shape),
  recognises: (record) => hasFields(record, 'function_signature', 'baseline_tests'),
  read: (source, styles) => {
    const { json, exact, file, reference } = source;
    const given =
      reference === null
        ? { baseline_tests: [], ...Object(presentFields(json)) }
        : withReference(source, 'reference_solution');
    const record = parseFields(recordSchema, structured(given, parseJson));
    const { function_signature, reference_solution } = record;
    const givenEntry = record.entry && calledEntry(record.entry);
    const isDef = record.calling === undefined || record.calling.style === 'call';
    const named = givenEntry === undefined ? undefined : parseSignature(function_signature, nameOf(givenEntry));
    const signature = isDef ? (named ?? parseSignature(function_signature)) : ANY_ARGUMENTS;
    if (!signature) throw new UnusableRecord('field `function_signature`: no `def name(arguments):` in it');
    if (!isDef && givenEntry === undefined)
      throw new UnusableRecord('missing field `entry`, which this `calling` needs');
    const entry = givenEntry ?? entryOf(signature, reference_solution ?? '');
    const tests = [...record.baseline_tests, ...record.hidden_tests];
    const certain = certainStyles(tests, signature);
    const style = certain.size === 0 ? styles?.chosen : certain.size === 1 ? [...certain][0] : undefined;
    const numbers = tests.some(isStructure) ? (structured(exact()) as typeof record) : record;
    const read = (field: 'baseline_tests' | 'hidden_tests'): TestCase[] =>
      record[field].flatMap((test, index) => {
        const exactTest = isStructure(test) ? numbers[field][index] : test;
        return readTest(exactTest, `${field}[${index}]`, signature, isDef ? entry : undefined, style);
      });
    const [baselineTests, hiddenTests] = [read('baseline_tests'), read('hidden_tests')];
    const calling = record.calling ?? callingOf(signature, [...baselineTests, ...hiddenTests]);
    const problem = problemOf({
      ...Object.fromEntries(FIELDS.map((name) => [propertyOf(name), record[name]])),
      functionSignature: isDef ? shownSignature(function_signature, entry) : function_signature.trim(),
      entry,
      baselineTests: baselineTests.map((test) => inShape(test, calling)),
      hiddenTests: hiddenTests.map((test) => inShape(test, calling)),
      source: record.source ?? basename(file),
      calling,
      ...judgesOf(record),
    });
    for (const one of certain) styles?.certain.add(one);
    return problem;
  },
};

const STRUCTURES = /^(?:baseline_tests|hidden_tests|reasoning|tags|comparison|calling)$/;

/** Parses lists and objects that are JSON text: a Parquet column has one type, so it holds such fields as text. */
function structured(json: unknown, parse?: (text: string) => unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  const fields = Object.entries(json).map(([name, given]) => {
    const value = STRUCTURES.test(name) ? ofJsonText(given, parse) : given;
    const isTests = name.endsWith('_tests') && Array.isArray(value);
    return [name, isTests ? value.map((test) => ofJsonText(test, parse)) : value];
  });
  return Object.fromEntries(fields);
}

/** The styles of the unambiguous list tests, which can be read in only one way. */
function certainStyles(tests: readonly unknown[], signature: Signature): Set<ListStyle> {
  return new Set(
    tests.map((test) => listStylesOf(test, signature)).flatMap((styles) => (styles.length === 1 ? styles : [])),
  );
}

/** True for a list or an object: its numbers are read as the file spells them, so 2.0 is a float. */
const isStructure = (test: unknown): boolean => typeof test === 'object' && test !== null;

/** One entry of a list of tests. An assert string may hold several assertions. */
function readTest(
  test: unknown,
  place: string,
  signature: Signature,
  entry: string | undefined,
  style: ListStyle | undefined,
): TestCase[] {
  return placed(place, () =>
    typeof test === 'string' ? readAssertions(test, signature, entry) : [testOfJson(test, signature, style)],
  );
}

/** Converts a problem to a record, from which the same problem can be read. */
export function toRecord({ hiddenTests, ...problem }: Problem): object {
  const fields: Record<string, unknown> = { ...problem, ...(hiddenTests.length > 0 && { hiddenTests }) };
  return presentFields(Object.fromEntries(FIELDS.map((name) => [name, fields[propertyOf(name)]])));
}
