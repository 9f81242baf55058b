// EvalPlus as released: inputs without expected values, which the canonical solution computes. Base inputs become
// baseline tests, the added ones hidden tests. `contract` says which inputs are legal; the given ones all are.
import { basename } from 'node:path';
import { z } from 'zod';
import type { Value } from '../../core/schema/value.js';
import { entryOf } from '../calling.js';
import { valueOfJson } from '../exactJson.js';
import {
  hasFields,
  idText,
  type ProblemFormat,
  parseFields,
  preferReference,
  problemOf,
  program,
  text,
  UnusableRecord,
} from './format.js';
import { calledEntry, completed, signatureIn } from './python.js';

const inputs = z.union([z.array(z.unknown()), z.strictObject({})]);
const recordSchema = z.object({
  task_id: idText,
  prompt: program,
  entry_point: text,
  canonical_solution: program,
  base_input: inputs,
  plus_input: inputs,
  atol: z.number().nonnegative().default(0),
});
const DEFAULT_TOLERANCE = 1e-6; // of floats if atol is 0
const RELATIVE = 1e-7;

export const evalplus: ProblemFormat = {
  name: 'evalplus',
  recognises: (record) => hasFields(record, 'task_id', 'entry_point', 'base_input', 'plus_input'),
  read: ({ json, exact, file }) => {
    const record = parseFields(recordSchema, preferReference(json, 'canonical_solution'));
    const { prompt, canonical_solution } = record;
    const called = calledEntry(record.entry_point);
    const referenceSolution = completed(prompt, canonical_solution, called);
    const entry = called.includes('.') ? called : entryOf({ entry: called }, referenceSolution);
    const { text: functionSignature } = signatureIn(referenceSolution, entry);
    const numbers = exact() as Record<'base_input' | 'plus_input', unknown>;
    return {
      problem: problemOf({
        id: record.task_id,
        description: prompt.trim(),
        functionSignature,
        entry,
        baselineTests: [],
        referenceSolution,
        source: basename(file),
        comparison: { absolute: record.atol || DEFAULT_TOLERANCE, relative: RELATIVE },
      }),
      inputs: {
        baseline: argumentLists(numbers.base_input, 'base_input'),
        hidden: argumentLists(numbers.plus_input, 'plus_input'),
      },
    };
  },
};

function argumentLists(json: unknown, field: string): Value[][] {
  const lists = Array.isArray(json) ? json : [];
  return lists.map((args, index) => {
    if (!Array.isArray(args)) throw new UnusableRecord(`field \`${field}.${index}\`: a list of arguments is expected`);
    return args.map(valueOfJson);
  });
}
