// Writers of inputs that use no model. Each yields an endless sequence of inputs for one wrong program.

import type { RandomStream } from '../../core/base/random.js';
import { changedInputs, constantsIn } from '../../core/inputs/dictionaryInputs.js';
import { freshInputs } from '../../core/inputs/freshInputs.js';
import type { Value } from '../../core/schema/value.js';
import type { FrozenProblem, WrongProgram } from './programs.js';

export interface Control {
  name: string;
  perProgram: boolean; // false if the inputs do not depend on the wrong program, so that all programs of a problem share them
  write(problem: FrozenProblem, program: WrongProgram, random: RandomStream): Iterable<Value[]>;
}

const BATCH = 100;

/** Yields mutations of `seeds`. Leaves out repetitions within a batch, as the product does. */
export function* mutations(seeds: readonly Value[][], random: RandomStream): Iterable<Value[]> {
  const seen = new Set<string>();
  for (let idle = 0; idle < 3; idle++) {
    for (const input of freshInputs(seeds, BATCH, random)) {
      const key = JSON.stringify(input);
      if (seen.has(key)) continue;
      seen.add(key);
      idle = -1;
      yield input;
    }
  }
}

const dictionary: Control['write'] = (problem, program, random) => changes(problem.known, problem, program, random);

/** Yields mutations of `seeds` with constants of the program, the reference and the description. */
export const changes = (
  seeds: readonly Value[][],
  problem: FrozenProblem,
  program: WrongProgram,
  random: RandomStream,
): Iterable<Value[]> =>
  changedInputs(seeds, constantsIn(program.code, problem.reference.code, problem.description), random);

export const CONTROLS: readonly Control[] = [
  { name: 'mutation', perProgram: false, write: ({ known }, _program, random) => mutations(known, random) },
  { name: 'dictionary', perProgram: true, write: dictionary },
  { name: 'by-hand', perProgram: true, write: (_problem, program, random) => program.byHand(random) },
];
