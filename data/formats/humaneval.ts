// HumanEval, and HumanEval+ with tests as source: `check(candidate)` over the function that the prompt begins.
import { basename } from 'node:path';
import { z } from 'zod';
import { definitionsOf } from '../../core/parse/definitions.js';
import { entryOf } from '../calling.js';
import {
  hasFields,
  idText,
  type ProblemFormat,
  parseFields,
  preferReference,
  problemOf,
  program,
  text,
} from './format.js';
import { calledEntry, completed, signatureIn, testsFrom } from './python.js';

const recordSchema = z.object({
  task_id: idText,
  prompt: program,
  entry_point: text,
  canonical_solution: z.union([z.literal(''), program]),
  test: z.string(),
});

export const humaneval: ProblemFormat = {
  name: 'humaneval',
  recognises: (record) => hasFields(record, 'task_id', 'prompt', 'entry_point', 'canonical_solution', 'test'),
  read: ({ json, file }) => {
    const record = parseFields(recordSchema, preferReference(json, 'canonical_solution'));
    const { task_id, prompt, canonical_solution, test } = record;
    const called = calledEntry(record.entry_point);
    const referenceSolution = completed(prompt, canonical_solution, called);
    const entry = called.includes('.') ? called : entryOf({ entry: called }, referenceSolution);
    const { signature, ...shown } = signatureIn(referenceSolution, entry);
    const problem = problemOf({
      id: task_id,
      description: prompt.trim(),
      ...shown,
      entry,
      referenceSolution,
      source: basename(file),
      ...(test.trim() === ''
        ? { baselineTests: [] }
        : testsFrom(helpersFor(test, prompt, entry) + test, entry, signature)),
    });
    return { problem };
  },
};

/** What the prompt has before the entry, if `check` uses a function of it: a program could replace one of its own. */
function helpersFor(test: string, prompt: string, entry: string): string {
  const [before = ''] = prompt.split(new RegExp(`^(?=(?:async\\s+)?(?:def|class)\\s+${entry.split('.')[0]}\\b)`, 'm'));
  const isUsed = definitionsOf(before).some(({ name }) => new RegExp(`\\b${name}\\b`).test(test));
  return isUsed && before.length < prompt.length ? `${before}\n\n` : '';
}
