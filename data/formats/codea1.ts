// The files that Code-A1 trains and validates with: HumanEval+, MBPP+ and KodCode in the columns of verl, with tests as source.
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
import { calledEntry, calledIn, completed, signatureIn, testsFrom } from './python.js';

const recordSchema = z.object({
  description: text,
  problem: program,
  GT_code: program,
  test: text,
  extra_info: z.object({ question_id: idText.optional(), function_name: text }),
});

export const codea1: ProblemFormat = {
  name: 'codea1',
  recognises: (record) => hasFields(record, 'problem', 'GT_code', 'test', 'extra_info'),
  idOf: (record) => {
    const { extra_info } = Object(record) as { extra_info?: { question_id?: unknown } | null };
    return typeof extra_info?.question_id === 'string' ? extra_info.question_id : undefined;
  },
  read: ({ json, file, index = 0 }) => {
    const record = parseFields(recordSchema, preferReference(json, 'GT_code'));
    const { description, problem, GT_code, test, extra_info } = record;
    const named = calledEntry(extra_info.function_name);
    const referenceSolution = completed(problem, GT_code, named);
    // the name is that of the first function, which may be a helper
    const called = /\bcandidate\b/.test(test) ? named : calledIn(test, referenceSolution);
    const entry = called.includes('.') ? called : entryOf({ entry: called }, referenceSolution);
    const { text: functionSignature, signature } = signatureIn(referenceSolution, entry);
    return {
      problem: problemOf({
        id: extra_info.question_id ?? `problem-${index}`,
        description: description.trim(),
        functionSignature,
        entry,
        referenceSolution,
        source: basename(file),
        ...testsFrom(test, entry, signature),
      }),
    };
  },
};
