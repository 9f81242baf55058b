// The project's own schema, which it reads and writes.
import { basename } from 'node:path';
import { z } from 'zod';
import { nameOf } from '../../core/parse/asserts.js';
import { definitionsOf } from '../../core/parse/definitions.js';
import { parseSignature, type Signature } from '../../core/parse/signature.js';
import { callingSchema } from '../../core/schema/calling.js';
import { comparisonSchema } from '../../core/schema/comparison.js';
import { testStyleSchema } from '../../core/schema/execution.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import { readAssertions } from '../assertions.js';
import { callingOf, entryOf, inShape, shownSignature } from '../calling.js';
import { checkerOfScript } from '../checkers.js';
import { listStylesOf, testOfJson } from '../testForms.js';
import {
  difficulty,
  hasFields,
  idText,
  type ListStyle,
  type ProblemFormat,
  parseFields,
  presentFields,
  problemOf,
  program,
  text,
  UnusableRecord,
} from './format.js';
import { calledEntry } from './python.js';

const functionNamed = (name: string) =>
  program.refine(
    (source) => definitionsOf(source).some((one) => one.kind === 'function' && one.name === name),
    `must define the function ${name}`,
  );

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
  validator: functionNamed('validator').optional(),
  checker: functionNamed('checker').optional(),
  generated_checker: program.optional(),
  reference_solution: program.optional(),
  reasoning: z.array(text).length(4, 'must have 4 texts, those of stages 1 to 4').optional(),
  difficulty: difficulty.optional(),
  tags: z.array(z.string()).optional(),
  source: z.string().optional(),
  comparison: comparisonSchema.optional(),
  calling: callingSchema.optional(),
});

/** Of calling styles that a `def` does not describe. */
const ANY_ARGUMENTS: Signature = parseSignature('def f(*args)')!;

export const gauntlet: ProblemFormat = {
  name: 'gauntlet',
  fields: Object.keys(recordSchema.shape),
  recognises: (record) => hasFields(record, 'function_signature', 'baseline_tests'),
  read: ({ json, exact, file }, fileStyle) => {
    const record = parseFields(recordSchema, json);
    const { function_signature, reference_solution } = record;
    const givenEntry = record.entry && calledEntry(record.entry);
    const isDef = record.calling === undefined || record.calling.style === 'call';
    const named = givenEntry === undefined ? undefined : parseSignature(function_signature, nameOf(givenEntry));
    const signature = isDef ? (named ?? parseSignature(function_signature)) : ANY_ARGUMENTS;
    if (!signature) throw new UnusableRecord('field `function_signature`: no `def name(arguments):` in it');
    if (!isDef && givenEntry === undefined)
      throw new UnusableRecord('missing field `entry`, which this `calling` needs');
    const entry = givenEntry ?? entryOf(signature, reference_solution ?? '');
    const given = [...record.baseline_tests, ...record.hidden_tests];
    const listStyles = certainStyles(given, signature);
    const style = listStyles.size === 0 ? fileStyle : listStyles.size === 1 ? [...listStyles][0] : undefined;
    const numbers = given.some(isStructure) ? (exact() as typeof record) : record;
    const read = (field: 'baseline_tests' | 'hidden_tests'): TestCase[] =>
      record[field].flatMap((test, index) => {
        const exactTest = isStructure(test) ? numbers[field][index] : test;
        return readTest(exactTest, `${field}[${index}]`, signature, isDef ? entry : undefined, style);
      });
    const [baselineTests, hiddenTests] = [read('baseline_tests'), read('hidden_tests')];
    const calling = record.calling ?? callingOf(signature, [...baselineTests, ...hiddenTests]);
    const problem = problemOf({
      id: record.id,
      title: record.title,
      description: record.description,
      functionSignature: isDef ? shownSignature(function_signature, entry) : function_signature.trim(),
      entry,
      baselineTests: baselineTests.map((test) => inShape(test, calling)),
      hiddenTests: hiddenTests.map((test) => inShape(test, calling)),
      referenceSolution: reference_solution,
      reasoning: record.reasoning,
      difficulty: record.difficulty,
      tags: record.tags,
      source: record.source ?? basename(file),
      comparison: record.comparison,
      calling,
      testSource: record.test_source,
      testStyle: record.test_source === undefined ? undefined : record.test_style,
      validator: record.validator,
      checker: record.checker ?? (record.generated_checker && checkerOfScript(record.generated_checker)),
    });
    return { problem, listStyles };
  },
};

/** The styles of the list tests that can be read in one way only. */
function certainStyles(tests: readonly unknown[], signature: Signature): Set<ListStyle> {
  return new Set(
    tests.map((test) => listStylesOf(test, signature)).flatMap((styles) => (styles.length === 1 ? styles : [])),
  );
}

/** True for the forms whose numbers are read as the file spells them: 2.0 is a float. */
const isStructure = (test: unknown): boolean => typeof test === 'object' && test !== null;

/** One entry of a list of tests. An assert string may hold several assertions. */
function readTest(
  test: unknown,
  place: string,
  signature: Signature,
  entry: string | undefined,
  style: ListStyle | undefined,
): TestCase[] {
  try {
    return typeof test === 'string' ? readAssertions(test, signature, entry) : [testOfJson(test, signature, style)];
  } catch (error) {
    if (error instanceof UnusableRecord || error instanceof RangeError)
      throw new UnusableRecord(`${place} ${error.message}`);
    throw error;
  }
}

/** The record of a problem: reading it gives the same problem. */
export function toRecord(problem: Problem): object {
  return presentFields({
    id: problem.id,
    title: problem.title,
    description: problem.description,
    function_signature: problem.functionSignature,
    entry: problem.entry,
    baseline_tests: problem.baselineTests,
    hidden_tests: problem.hiddenTests.length > 0 ? problem.hiddenTests : undefined,
    test_source: problem.testSource,
    test_style: problem.testStyle,
    validator: problem.validator,
    checker: problem.checker,
    reference_solution: problem.referenceSolution,
    reasoning: problem.reasoning,
    difficulty: problem.difficulty,
    tags: problem.tags,
    source: problem.source,
    comparison: problem.comparison,
    calling: problem.calling,
  });
}
