// Measures which frozen programs an arm catches, and after how many inputs.
import { RandomStream } from '../../core/base/random.js';
import type { Value } from '../../core/schema/value.js';
import type { FrozenProblem, WrongProgram } from './programs.js';

/** The numbers of inputs at which catches are recorded: about six per power of ten. */
export const GRID = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 80, 120, 200, 320, 500, 800, 1200, 2000, 3000] as const;
export const MOST_INPUTS = GRID.at(-1)!;

export interface Arm {
  name: string;
  perProgram: boolean;
  write(problem: FrozenProblem, program: WrongProgram, random: RandomStream): Iterable<Value[]>;
}

export interface Caught {
  program: WrongProgram;
  rank: number; // the position of the first input that catches the program; Infinity if none of MOST_INPUTS does
}

export function catchesOf(problem: FrozenProblem, arm: Arm, seed: number, limit: number = MOST_INPUTS): Caught[] {
  const { reference, wrong } = problem;
  const caught: Caught[] = wrong.map((program) => ({ program, rank: Number.POSITIVE_INFINITY }));
  /** Runs inputs until they have caught all programs. */
  const hunt = (targets: Caught[], name: string): void => {
    const inputs = arm.write(problem, targets[0]!.program, new RandomStream('catches', arm.name, seed, name));
    let open = targets;
    let rank = 0;
    for (const input of inputs) {
      if (++rank > limit) break;
      const right = reference.run(input);
      const found = open.filter(({ program }) => program.run(input) !== right);
      for (const one of found) one.rank = rank;
      open = open.filter((one) => !found.includes(one));
      if (open.length === 0) break;
    }
  };
  if (wrong.length === 0) return caught;
  if (arm.perProgram) for (const one of caught) hunt([one], one.program.id);
  else hunt(caught, problem.id);
  return caught;
}
