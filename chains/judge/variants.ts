// Inputs beside those that a discriminator wrote (`discriminator.writer: hybrid`): its inputs are seeds, which a dictionary changes.
import { RandomStream } from '../../core/base/random.js';
import { constantsIn, dictionaryInputs } from '../../core/inputs/dictionaryInputs.js';
import { knownInputs } from '../../core/inputs/freshInputs.js';
import type { Verdict } from '../../core/schema/execution.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';

type Input = Pick<TestCase, 'args'>;

const VARIANTS = 100; // inputs of a problem in a step; a call costs little next to the start of a program

/** New inputs near those that were written; near known ones if none was. The same for the same inputs, programs and seed. */
export function drawVariants(
  problem: Problem,
  written: readonly Input[],
  programs: readonly string[],
  seed: number,
): Input[] {
  const { id, description, referenceSolution = '' } = problem;
  const constants = constantsIn(description, referenceSolution, ...programs);
  const seeds = written.length > 0 ? written.map(({ args }) => args) : knownInputs(problem);
  const random = new RandomStream(seed, 'variants', id);
  return dictionaryInputs(seeds, constants, VARIANTS, random).map((args) => ({ args }));
}

/**
 * Of the variants, in order, those that catch a program which passes the suite and the variants before. So the suite stays small.
 * @param suite verdicts by program and test
 * @param variants the same of the variants
 */
export function catchingVariants(suite: readonly Verdict[][], variants: readonly Verdict[][]): number[] {
  const uncaught = new Set(suite.flatMap((own, p) => (own.every(isPass) ? [p] : [])));
  return (variants[0] ?? []).flatMap((_, v) => {
    const caught = [...uncaught].filter((p) => !isPass(variants[p]![v]!));
    for (const p of caught) uncaught.delete(p);
    return caught.length > 0 ? [v] : [];
  });
}

const isPass = (verdict: Verdict): boolean => verdict === 'pass';
