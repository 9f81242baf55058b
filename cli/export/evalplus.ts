// A problem in the fields of EvalPlus, whose judge asks `canonical_solution` for the answers.
import type { Problem, TestCase } from '../../core/schema/problem.js';
import { jsonText } from './deepcoder.js';

/**
 * A line of JSON, whose numbers are written as Python reads them: 2.0 stays a float. Undefined if EvalPlus cannot call the program, or
 * if JSON has no value for any input.
 * @param added how many of the baseline tests are new
 */
export function evalplusRow({ calling, entry, ...problem }: Problem, added: number): string | undefined {
  const { id, description, functionSignature, referenceSolution = '', comparison, baselineTests } = problem;
  const given = baselineTests.length - added;
  const inputsOf = (tests: readonly TestCase[]): string[] => tests.flatMap(({ args }) => jsonText(args) ?? []);
  const [base, plus] = [inputsOf(baselineTests.slice(0, given)), inputsOf(baselineTests.slice(given))];
  if (calling !== undefined || entry.includes('.') || base.length + plus.length === 0) return undefined;
  const fields = {
    task_id: id,
    entry_point: entry,
    prompt: `${functionSignature}\n    ${JSON.stringify(description)}\n`,
    canonical_solution: `\n\n${referenceSolution}`,
    contract: '',
    atol: typeof comparison === 'object' && 'absolute' in comparison ? comparison.absolute : 0,
  };
  return `${JSON.stringify(fields).slice(0, -1)},"base_input":[${base.join(', ')}],"plus_input":[${plus.join(', ')}]}\n`;
}
