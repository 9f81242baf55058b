// HumanEval, and HumanEval+ with tests as source: `check(candidate)` over the function that the prompt begins.
import { basename } from 'node:path';
import { z } from 'zod';
import {
  code,
  hasFields,
  idText,
  type ProblemFormat,
  parseFields,
  preferReference,
  problemOf,
  program,
  text,
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
  recognises: (record) => hasFields(record, 'task_id', 'prompt', 'entry_point', 'canonical_solution', 'test'),
  fields: () => Object.keys(recordSchema.shape),
  read: ({ json, file }) => {
    const record = parseFields(recordSchema, preferReference(json, 'canonical_solution'));
    const { test } = record;
    const { signature, ...shown } = completion(record);
    const problem = problemOf({
      id: record.task_id,
      ...shown,
      source: basename(file),
      ...(test.trim() === '' ? { baselineTests: [] } : testsFrom(test, shown.entry, signature)),
    });
    return { problem };
  },
};
