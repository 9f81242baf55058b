// A problem in the fields of EvalPlus, whose judge asks `canonical_solution` for the answers.
import type { Problem, TestCase } from '../../core/schema/problem.js';
import { jsonText } from './deepcoder.js';

/** Undefined if EvalPlus cannot call the program, or if JSON has no value for any input. @param added of the baseline tests */
export function evalplusRow({ calling, entry, ...problem }: Problem, added: number): object | undefined {
  const { id, description, functionSignature, referenceSolution = '', comparison, baselineTests } = problem;
  const given = baselineTests.length - added;
  const inputsOf = (tests: readonly TestCase[]): unknown[] =>
    tests.flatMap(({ args }) => {
      const texts = args.map(jsonText);
      return texts.includes(undefined) ? [] : [JSON.parse(`[${texts.join(', ')}]`)];
    });
  const [base, plus] = [inputsOf(baselineTests.slice(0, given)), inputsOf(baselineTests.slice(given))];
  if (calling !== undefined || entry.includes('.') || base.length + plus.length === 0) return undefined;
  return {
    task_id: id,
    entry_point: entry,
    prompt: `${functionSignature}\n    ${JSON.stringify(description)}\n`,
    canonical_solution: `\n\n${referenceSolution}`,
    contract: '',
    atol: typeof comparison === 'object' && 'absolute' in comparison ? comparison.absolute : 0,
    base_input: base,
    plus_input: plus,
  };
}
