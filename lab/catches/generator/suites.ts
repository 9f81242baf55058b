// The tests that reward programs. They exist before the programs, so a writer knows only the description, the known inputs and
// the reference. In the measurement of catches, by contrast, some arms know constants of the program.

import { RandomStream } from '../../../core/base/random.js';
import { changedInputs, constantsIn } from '../../../core/inputs/dictionaryInputs.js';
import type { Value } from '../../../core/schema/value.js';
import type { KeyholeArgs, Rule } from '../../families/keyhole/family.js';
import { solveRule } from '../../families/keyhole/inputs.js';
import type { KeyholeProblem } from '../../families/keyhole/problems.js';
import { renderCode, renderDescription } from '../../families/keyhole/render.js';
import { mutations } from '../controls.js';
import { HYBRIDS } from '../writer/arms.js';

export const SUITE = 32; // the number of inputs in addition to the known ones, which every suite contains

type Inputs = Iterable<Value[]>;
/** @param written the inputs that the blind writer wrote for this problem */
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

/** The written inputs. Continues with mutations if they repeat themselves. */
const own: Draw = function* (problem, written, random) {
  yield* written;
  yield* mutations(knownOf(problem), random);
};

const DRAWS = {
  baseline: () => [],
  mutation: (problem, _written, random) => mutations(knownOf(problem), random),
  dictionary: (problem, _written, random) => changes(knownOf(problem), problem, random),
  'dictionary-10x': (problem, _written, random) => changes(knownOf(problem), problem, random),
  search: own, // in the reference
  cases: own,
  expert: own,
  'expert-placebo': own,
  blind: own,
  'blind-hybrid': hybrid,
  'blind-hybrid-10x': hybrid,
  'by-hand': ({ spec }, _written, random) => byHand(spec.rules, random) as Iterable<unknown> as Inputs,
} satisfies Record<string, Draw>;

export type SuiteArm = keyof typeof DRAWS;
export const SUITE_ARMS = Object.keys(DRAWS) as SuiteArm[];
/** Numbers of additional inputs that differ from SUITE. */
export const SIZES: Partial<Record<SuiteArm, number>> = {
  baseline: 0,
  'dictionary-10x': 10 * SUITE,
  'blind-hybrid-10x': 10 * SUITE,
};
export const needsWriter = (arm: SuiteArm): boolean => DRAWS[arm] === own || DRAWS[arm] === hybrid;

/** The known inputs, followed by distinct inputs of the arm. */
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

/** Whether an input has the right types. A check is needed because a writer may write any literals. */
export const isLegal = ([nums, a, b]: Value[]): boolean =>
  Array.isArray(nums) && [...nums, a, b].every(Number.isSafeInteger);
