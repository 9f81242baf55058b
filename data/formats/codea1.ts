// Code-A1's sets, Parquet files for verl: HumanEval+ and MBPP+ with HumanEval's fields in columns of their own.
import { z } from 'zod';
import { hasFields, idText, type ProblemFormat, parseFields, program, text, withReference } from './format.js';
import { humaneval } from './humaneval.js';
import { calledIn, completed } from './python.js';

const recordSchema = z.object({
  description: text,
  problem: program,
  GT_code: program,
  test: text,
  extra_info: z.object({ question_id: idText, function_name: text }),
});

export const codea1: ProblemFormat = {
  name: 'codea1',
  fields: () => Object.keys(recordSchema.shape),
  recognises: (record) => hasFields(record, 'problem', 'GT_code', 'test', 'extra_info'),
  idOf: (record) => (record as Partial<z.infer<typeof recordSchema>> | null)?.extra_info?.question_id?.toString(),
  read: (record) => {
    const fields = parseFields(recordSchema, withReference(record, 'GT_code'));
    const { description, problem: prompt, GT_code: canonical_solution, test, extra_info } = fields;
    const { question_id: task_id, function_name: first } = extra_info; // the first function may be a helper
    const isNamed = /\bcandidate\b/.test(test);
    const entry_point = isNamed ? first : calledIn(test, completed(prompt, canonical_solution, first));
    const json = { task_id, prompt, entry_point, canonical_solution, test };
    return { ...humaneval.read({ ...record, json }), description: description.trim() };
  },
};
