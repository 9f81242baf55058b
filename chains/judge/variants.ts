// Adds inputs to the inputs that a discriminator wrote (`discriminator.writer: hybrid`): a dictionary changes written inputs.
import { RandomStream } from '../../core/base/random.js';
import { constantsIn, dictionaryInputs } from '../../core/inputs/dictionaryInputs.js';
import { knownInputs } from '../../core/inputs/freshInputs.js';
import type { Verdict } from '../../core/schema/execution.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';

type Input = Pick<TestCase, 'args'>;

const VARIANTS = 100; // the number of inputs per problem and step; starting a program costs far more than a call

/** New inputs near the written inputs, or near known inputs if none was written. Equal arguments give equal results. */
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
 * The variants that catch a program which passes the suite and all earlier variants. So the suite stays small.
 * @param suite verdicts by program and test
 * @param variants verdicts by program and variant
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
