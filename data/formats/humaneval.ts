// HumanEval, and HumanEval+ with tests as source: `check(candidate)` over the function that the prompt begins. And the sets of
// Code-A1, Parquet files for verl: HumanEval+ and MBPP+ with the fields of HumanEval in columns of their own.
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
import { calledIn, completed, completion, testsFrom } from './python.js';

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

/** The prompt's text before the entry, if `check` uses a function from it: a program could replace its own copy of the function. */
function helpersFor(test: string, prompt: string, entry: string): string {
  const [before = ''] = prompt.split(new RegExp(`^(?=(?:async\\s+)?(?:def|class)\\s+${entry.split('.')[0]}\\b)`, 'm'));
  const isUsed = definitionsOf(before).some(({ name }) => new RegExp(`\\b${name}\\b`).test(test));
  return isUsed && before.length < prompt.length ? `${before}\n\n` : '';
}

const codea1Schema = z.object({
  description: text,
  problem: program,
  GT_code: program,
  test: text,
  extra_info: z.object({ question_id: idText, function_name: text }),
});

export const codea1: ProblemFormat = {
  name: 'codea1',
  fields: () => Object.keys(codea1Schema.shape),
  recognises: (record) => hasFields(record, 'problem', 'GT_code', 'test', 'extra_info'),
  idOf: (record) => (record as Partial<z.infer<typeof codea1Schema>> | null)?.extra_info?.question_id?.toString(),
  read: (record) => {
    const fields = parseFields(codea1Schema, withReference(record, 'GT_code'));
    const { description, problem: prompt, GT_code: canonical_solution, test, extra_info } = fields;
    const { question_id: task_id, function_name: first } = extra_info; // the first function may be a helper
    const isNamed = /\bcandidate\b/.test(test);
    const entry_point = isNamed ? first : calledIn(test, completed(prompt, canonical_solution, first));
    const json = { task_id, prompt, entry_point, canonical_solution, test };
    return { ...humaneval.read({ ...record, json }), description: description.trim() };
  },
};
