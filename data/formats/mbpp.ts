// MBPP, its sanitized edition, and MBPP+ where its tests are source: assert statements over a function of `code`.
import { basename } from 'node:path';
import { z } from 'zod';
import { definitionsOf } from '../../core/parse/definitions.js';
import { problemSchema } from '../../core/schema/problem.js';
import {
  definedOnly,
  FieldProblem,
  hasFields,
  idText,
  type ProblemFormat,
  parseFields,
  text,
  Unusable,
} from './format.js';
import { signatureIn, testsFrom } from './python.js';

const recordSchema = z.object({
  task_id: idText,
  text: text.optional(),
  prompt: text.optional(),
  code: text,
  test_list: z.array(z.string()),
  test_setup_code: z.string().default(''),
  test_imports: z.array(z.string()).default([]),
  challenge_test_list: z.array(z.string()).default([]),
});

export const mbpp: ProblemFormat = {
  name: 'mbpp',
  recognises: (record) => hasFields(record, 'task_id', 'code', 'test_list'),
  read: ({ json, file }) => {
    const record = parseFields(recordSchema, json);
    const description = record.text ?? record.prompt;
    if (description === undefined) throw new FieldProblem('missing field `text` (or `prompt`)');
    const referenceSolution = record.code.replace(/\r\n?/g, '\n');
    const entry = calledIn([...record.test_list, ...record.challenge_test_list].join('\n'), referenceSolution);
    const { text: functionSignature, signature } = signatureIn(referenceSolution, entry);
    const setup = [...record.test_imports, record.test_setup_code].filter((part) => part.trim() !== '');
    const sourceOf = (asserts: string[]): string => [...setup, ...asserts].join('\n');
    const given = testsFrom(sourceOf(record.test_list), entry, signature);
    const challenge = testsFrom(sourceOf(record.challenge_test_list), entry, signature);
    const isTable = given.testSource === undefined && challenge.testSource === undefined;
    return {
      problem: problemSchema.parse(
        definedOnly({
          id: `MBPP/${record.task_id}`.replace(/^MBPP\/(?=Mbpp\/|MBPP\/)/, ''),
          description: description.trim(),
          functionSignature,
          entry,
          baselineTests: given.baselineTests,
          hiddenTests: challenge.baselineTests,
          testSource: isTable ? undefined : sourceOf([...record.test_list, ...record.challenge_test_list]),
          referenceSolution,
          source: basename(file),
        }),
      ),
    };
  },
};

/** The function of `code` that the tests call: the last one that is defined, where they call several. */
function calledIn(tests: string, code: string): string {
  const functions = definitionsOf(code).filter(({ kind }) => kind === 'function');
  const called = functions.filter(({ name }) => new RegExp(`\\b${name}\\s*\\(`).test(tests)).at(-1);
  const found = called ?? (tests.trim() === '' ? functions.at(-1) : undefined);
  if (!found) throw new Unusable('the tests call no function that `code` defines');
  return found.name;
}
