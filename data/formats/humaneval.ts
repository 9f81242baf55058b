// HumanEval, and HumanEval+ with tests as source: `check(candidate)` over the function that the prompt begins.
import { basename } from 'node:path';
import { z } from 'zod';
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
import { completed, signatureIn, testsFrom } from './python.js';

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
    const { task_id, prompt, entry_point, canonical_solution, test } = parseFields(
      recordSchema,
      preferReference(json, 'canonical_solution'),
    );
    const referenceSolution = completed(prompt, canonical_solution, entry_point);
    const { text: functionSignature, signature } = signatureIn(referenceSolution, entry_point);
    const problem = problemOf({
      id: task_id,
      description: prompt.trim(),
      functionSignature,
      entry: entry_point,
      referenceSolution,
      source: basename(file),
      ...(test.trim() === '' ? { baselineTests: [] } : testsFrom(test, entry_point, signature)),
    });
    return { problem };
  },
};
