// The tests that reward programs. Programs change while they are trained, so a suite knows only what is known before them: the
// description, the known inputs and the reference. Unlike in the measurement of catches, no arm has constants of the program.

import { RandomStream } from '../../../core/base/random.js';
import { changedInputs, constantsIn } from '../../../core/inputs/dictionaryInputs.js';
import type { Value } from '../../../core/schema/value.js';
import type { KeyholeArgs, Rule } from '../../families/keyhole/family.js';
import { solveRule } from '../../families/keyhole/inputs.js';
import type { KeyholeProblem } from '../../families/keyhole/problems.js';
import { renderCode, renderDescription } from '../../families/keyhole/render.js';
import { mutations } from '../controls.js';
import { HYBRIDS } from '../writer/arms.js';

export const SUITE = 32; // inputs beside the known ones, which every suite has

type Inputs = Iterable<Value[]>;
/** @param written inputs of the blind writer for this problem */
type Draw = (problem: KeyholeProblem, written: Value[][], random: RandomStream) => Inputs;

const knownOf = ({ known }: KeyholeProblem): Value[][] => known as unknown as Value[][];

const changes = (seeds: Value[][], { spec }: KeyholeProblem, random: RandomStream): Inputs =>
  changedInputs(seeds, constantsIn(renderCode(spec), renderDescription(spec)), random);

export function* byHand(rules: readonly Rule[], random: RandomStream): Iterable<KeyholeArgs> {
  for (;;) for (const rule of rules) yield solveRule(rule, random);
}

const hybrid: Draw = function* (problem, written, random) {
  const seeds = written.slice(0, HYBRIDS['blind-hybrid'].seeds);
  yield* seeds;
  yield* changes(seeds.length > 0 ? seeds : knownOf(problem), problem, random);
};

const DRAWS = {
  baseline: () => [],
  mutation: (problem, _written, random) => mutations(knownOf(problem), random),
  dictionary: (problem, _written, random) => changes(knownOf(problem), problem, random),
  'dictionary-10x': (problem, _written, random) => changes(knownOf(problem), problem, random),
  *blind(problem, written, random) {
    yield* written;
    yield* mutations(knownOf(problem), random); // if the writer repeats itself
  },
  'blind-hybrid': hybrid,
  'blind-hybrid-10x': hybrid,
  'by-hand': ({ spec }, _written, random) => byHand(spec.rules, random) as Iterable<unknown> as Inputs,
} satisfies Record<string, Draw>;

export type SuiteArm = keyof typeof DRAWS;
export const SUITE_ARMS = Object.keys(DRAWS) as SuiteArm[];
/** Of inputs beside the known ones, where it is not SUITE. */
export const SIZES: Partial<Record<SuiteArm, number>> = {
  baseline: 0,
  'dictionary-10x': 10 * SUITE,
  'blind-hybrid-10x': 10 * SUITE,
};
export const needsWriter = (arm: SuiteArm): boolean => arm.startsWith('blind');

/** The known inputs and as many different ones as the arm has. */
export function suiteOf(arm: SuiteArm, seed: number, problem: KeyholeProblem, written: Value[][] = []): KeyholeArgs[] {
  const suite = new Map(knownOf(problem).map((input) => [JSON.stringify(input), input]));
  const full = suite.size + (SIZES[arm] ?? SUITE);
  if (suite.size === full) return [...problem.known];
  const random = new RandomStream('keyhole-suite', arm, seed, problem.id);
  for (const input of DRAWS[arm](problem, written.filter(isLegal), random)) {
    suite.set(JSON.stringify(input), input);
    if (suite.size === full) break;
  }
  return [...suite.values()] as unknown as KeyholeArgs[];
}

/** A writer may write any literals. */
const isLegal = ([nums, a, b]: Value[]): boolean => Array.isArray(nums) && [...nums, a, b].every(Number.isSafeInteger);
