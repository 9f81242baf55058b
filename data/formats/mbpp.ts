// MBPP, its sanitized edition, and MBPP+ with tests as source: assert statements over a function of `code`. The column `test` of
// MBPP+ has the suite that its asserts are a part of. The texts do not say what arguments look like, so the first assert is
// shown, as in EvalPlus's prompts.
import { basename } from 'node:path';
import { z } from 'zod';
import {
  hasFields,
  idText,
  type ProblemFormat,
  parseFields,
  problemOf,
  program,
  text,
  UnusableRecord,
  withReference,
} from './format.js';
import { calledIn, signatureIn, testsFrom } from './python.js';

const recordSchema = z.object({
  task_id: idText,
  text: text.optional(),
  prompt: text.optional(),
  code: program,
  test_list: z.array(z.string()),
  test_setup_code: z.string().default(''),
  test_imports: z.array(z.string()).default([]),
  challenge_test_list: z.array(z.string()).default([]),
  test: z.string().default(''),
});

export const mbpp: ProblemFormat = {
  name: 'mbpp',
  fields: () => Object.keys(recordSchema.shape),
  recognises: (record) => hasFields(record, 'task_id', 'code', 'test_list'),
  read: (source) => {
    const record = parseFields(recordSchema, withReference(source, 'code'));
    const described = record.text ?? record.prompt;
    if (described === undefined) throw new UnusableRecord('missing field `text` (or `prompt`)');
    const referenceSolution = record.code.replace(/\r\n?/g, '\n');
    const asserts = [...record.test_list, ...record.challenge_test_list];
    const example = record.test_list[0]?.trim() ?? '';
    const entry = calledIn(asserts.join('\n'), referenceSolution);
    const { signature, ...shown } = signatureIn(referenceSolution, entry);
    const setup = [...record.test_imports, record.test_setup_code].filter((part) => part.trim() !== '');
    const sourceOf = (tests: string[]): string => [...setup, ...tests].join('\n');
    const given = testsFrom(sourceOf(record.test_list), entry, signature);
    const challenge = testsFrom(sourceOf(record.challenge_test_list), entry, signature);
    // in three tasks of MBPP+, the suite asserts nothing
    const suite = testsFrom(/\bassert\b/.test(record.test) ? record.test : '', entry, signature);
    const kept = [given.testSource, suite.testSource].filter((source) => source !== undefined);
    return problemOf({
      id: `MBPP/${record.task_id}`.replace(/^MBPP\/(?=Mbpp\/|MBPP\/)/, ''),
      description: described.includes(example) ? described.trim() : `${described.trim()}\n${example}`,
      ...shown,
      entry,
      baselineTests: given.baselineTests,
      hiddenTests: [...challenge.baselineTests, ...suite.baselineTests],
      testSource: kept.length > 0 ? kept.join('\n\n') : undefined, // no source of challenge tests: it would not stay hidden
      referenceSolution,
      source: basename(source.file),
    });
  },
};
