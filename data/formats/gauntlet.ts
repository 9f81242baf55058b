// The project's own schema (METHOD: `id, description, function_signature, baseline_tests, reference_solution, …`), in
// and out.
import { basename } from 'node:path';
import { z } from 'zod';
import { callingSchema } from '../../core/schema/calling.js';
import { comparisonSchema } from '../../core/schema/comparison.js';
import { type Problem, problemSchema, type TestCase } from '../../core/schema/problem.js';
import { readAssertions } from '../assertions.js';
import { callingOf, entryOf, inShape, shownSignature } from '../calling.js';
import { parseSignature, type Signature } from '../signature.js';
import { TestFormProblem, testOfJson } from '../testForms.js';
import { definedOnly, hasFields, idText, type ProblemFormat, parseFields, text, Unusable } from './format.js';

/** A problem as files hold it. Other fields are ignored. */
const recordSchema = z.object({
  id: idText,
  title: z.string().optional(),
  description: text,
  function_signature: text,
  entry: text.optional(),
  baseline_tests: z.array(z.unknown()),
  hidden_tests: z.array(z.unknown()).default([]),
  test_source: text.optional(),
  reference_solution: text,
  difficulty: z.string().optional(),
  tags: z.array(z.string()).optional(),
  source: z.string().optional(),
  comparison: comparisonSchema.optional(),
  calling: callingSchema.optional(),
});

/** What calls of these styles look like is not in a `def`. */
const FREE: Signature = { entry: '', required: 0, most: Number.POSITIVE_INFINITY, annotations: [], result: '' };

export const gauntlet: ProblemFormat = {
  name: 'gauntlet',
  recognises: (record) => hasFields(record, 'function_signature', 'baseline_tests'),
  read: ({ json, file }) => {
    const record = parseFields(recordSchema, json);
    const free = record.calling !== undefined && record.calling.style !== 'call';
    const signature = free ? FREE : parseSignature(record.function_signature);
    if (!signature) throw new Unusable('field `function_signature`: no `def name(arguments):` in it');
    if (free && record.entry === undefined) throw new Unusable(`missing field \`entry\`, which this \`calling\` needs`);
    const baselineTests = readTests(record.baseline_tests, 'baseline_tests', signature);
    const hiddenTests = readTests(record.hidden_tests, 'hidden_tests', signature);
    const { function_signature, reference_solution } = record;
    const entry = record.entry ?? entryOf(function_signature, signature.entry, reference_solution);
    const calling = record.calling ?? callingOf(signature, [...baselineTests, ...hiddenTests]);
    const shaped = (tests: TestCase[]): TestCase[] => tests.map((test) => inShape(test, calling));
    const problem = {
      id: record.id,
      title: record.title,
      description: record.description,
      functionSignature: free ? function_signature.trim() : shownSignature(function_signature, entry),
      entry,
      baselineTests: shaped(baselineTests),
      hiddenTests: shaped(hiddenTests),
      referenceSolution: reference_solution,
      difficulty: record.difficulty,
      tags: record.tags,
      source: record.source ?? basename(file),
      comparison: record.comparison,
      calling,
      testSource: record.test_source,
    };
    return { problem: problemSchema.parse(definedOnly(problem)) };
  },
};

/** Tests of one field, each in whichever form it has. An assert string may hold several assertions. */
function readTests(entries: unknown[], field: string, signature: Signature): TestCase[] {
  return entries.flatMap((entry, index) => {
    try {
      return typeof entry === 'string' ? readAssertions(entry, signature) : [testOfJson(entry, signature)];
    } catch (error) {
      if (error instanceof TestFormProblem) throw new Unusable(`${field}[${index}] ${error.message}`);
      throw error;
    }
  });
}

/** The record of a problem: reading it gives the same problem. */
export function toRecord(problem: Problem): object {
  return definedOnly({
    id: problem.id,
    title: problem.title,
    description: problem.description,
    function_signature: problem.functionSignature,
    entry: problem.entry,
    baseline_tests: problem.baselineTests,
    hidden_tests: problem.hiddenTests.length > 0 ? problem.hiddenTests : undefined,
    test_source: problem.testSource,
    reference_solution: problem.referenceSolution,
    difficulty: problem.difficulty,
    tags: problem.tags,
    source: problem.source,
    comparison: problem.comparison,
    calling: problem.calling,
  });
}
