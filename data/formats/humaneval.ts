// HumanEval, and HumanEval+ with tests as source: `check(candidate)` over the function that the prompt begins.
import { basename } from 'node:path';
import { z } from 'zod';
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
  fields: Object.keys(recordSchema.shape),
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
      ...(test.trim() === '' ? { baselineTests: [] } : testsFrom(test, entry, signature)),
    });
    return { problem };
  },
};
