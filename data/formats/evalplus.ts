// EvalPlus as released: inputs without expected values, which the canonical solution computes. Base inputs become
// baseline tests, all inputs hidden tests, because EvalPlus counts a program that passes all. `contract`, asserts about legal
// inputs, becomes the validator.
import { basename } from 'node:path';
import { z } from 'zod';
import { definitionsOf } from '../../core/parse/definitions.js';
import type { Value } from '../../core/schema/value.js';
import { valueOfJson } from '../exactJson.js';
import { rulesOf, typesOf } from './evalplusRules.js';
import {
  code,
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
import { completion } from './python.js';

const inputs = z.union([z.array(z.unknown()), z.strictObject({})]);
const recordSchema = z.object({
  task_id: idText,
  prompt: program,
  entry_point: text,
  canonical_solution: program,
  base_input: inputs,
  plus_input: inputs,
  contract: code.default(''),
  atol: z.number().nonnegative().default(0),
});
const DEFAULT_TOLERANCE = 1e-6; // the tolerance of floats if atol is 0
const RELATIVE = 1e-7;

export const evalplus: ProblemFormat = {
  name: 'evalplus',
  fields: () => Object.keys(recordSchema.shape),
  recognises: (record) => hasFields(record, 'task_id', 'entry_point', 'base_input', 'plus_input'),
  read: (given) => {
    const record = parseFields(recordSchema, withReference(given, 'canonical_solution'));
    const { signature: _, ...shown } = completion(record);
    const { entry, referenceSolution } = shown;
    const numbers = given.exact() as Record<'base_input' | 'plus_input', unknown>;
    const types = typesOf(record.task_id);
    const inputsIn = (field: 'base_input' | 'plus_input'): Value[][] =>
      argumentLists(numbers[field], field).map((args) => types?.(args) ?? args);
    const [base, plus] = [inputsIn('base_input'), inputsIn('plus_input')];
    const absolute = record.atol || DEFAULT_TOLERANCE;
    const { order, checker, ...truth } = rulesOf(record.task_id, entry, absolute);
    const problem = problemOf({
      id: record.task_id,
      ...shown,
      baselineTests: [],
      source: basename(given.file),
      validator: validatorOf(record.contract, entry, referenceSolution, types !== undefined),
      comparison: { absolute, relative: RELATIVE, ...order },
      checker,
    });
    return {
      ...problem,
      inputs: { baseline: base, hidden: plus.length > 0 ? [...base, ...plus] : [], ...truth },
    };
  },
};

/**
 * The contract as a function with the solution's parameters, after the solution, whose helpers the contract may call. Leaves out a
 * contract that asks for tuples or sets if the inputs have the types of JSON, which has neither.
 */
function validatorOf(contract: string, entry: string, reference: string, isTyped: boolean): string | undefined {
  const header = definitionsOf(reference).find(({ name }) => name === entry)?.header;
  const indent = /^([ \t]+)\S/m.exec(contract)?.[1];
  if (header === undefined || indent === undefined) return undefined;
  if (!isTyped && /\b(?:tuple|set|frozenset)\b(?!\s*\()/.test(contract)) return undefined;
  const named = header.replace(/^(\s*def\s+)\w+/, '$1validator');
  return [reference, '', '', named, contract.replace(/^\n+/, '').trimEnd(), `${indent}return True`, ''].join('\n');
}

function argumentLists(json: unknown, field: string): Value[][] {
  const lists = Array.isArray(json) ? json : [];
  return lists.map((args, index) => {
    if (!Array.isArray(args)) throw new UnusableRecord(`field \`${field}.${index}\`: a list of arguments is expected`);
    return args.map(valueOfJson);
  });
}
