// HumanEval, and HumanEval+ with tests as source: `check(candidate)` over the function that the prompt begins.
import { basename } from 'node:path';
import { z } from 'zod';
import { definitionsOf } from '../../core/parse/definitions.js';
import {
  code,
  hasFields,
  idText,
  type ProblemFormat,
  parseFields,
  problemOf,
  program,
  text,
  withReference,
} from './format.js';
import { completion, testsFrom } from './python.js';

const recordSchema = z.object({
  task_id: idText,
  prompt: program,
  entry_point: text,
  canonical_solution: code,
  suffix: z.string().default(''),
  test: z.string(),
});

export const humaneval: ProblemFormat = {
  name: 'humaneval',
  fields: () => Object.keys(recordSchema.shape),
  recognises: (record) => hasFields(record, 'task_id', 'prompt', 'entry_point', 'canonical_solution', 'test'),
  read: (given) => {
    const record = parseFields(recordSchema, withReference(given, 'canonical_solution'));
    const { test } = record;
    const { signature, ...shown } = completion(record);
    return problemOf({
      id: record.task_id,
      ...shown,
      source: basename(given.file),
      ...(test.trim() === ''
        ? { baselineTests: [] }
        : testsFrom(helpersFor(test, record.prompt, shown.entry) + test, shown.entry, signature)),
    });
  },
};

/** What the prompt has before the entry, if `check` uses a function of it: a program could replace one of its own. */
function helpersFor(test: string, prompt: string, entry: string): string {
  const [before = ''] = prompt.split(new RegExp(`^(?=(?:async\\s+)?(?:def|class)\\s+${entry.split('.')[0]}\\b)`, 'm'));
  const isUsed = definitionsOf(before).some(({ name }) => new RegExp(`\\b${name}\\b`).test(test));
  return isUsed && before.length < prompt.length ? `${before}\n\n` : '';
}
