// Measures one arm with one seed on one split.

import { RandomStream } from '../../core/base/random.js';
import { freshInputs } from '../../core/inputs/freshInputs.js';
import type { Split } from '../../core/schema/problem.js';
import { FROZEN, type FrozenFamily } from './frozen.js';
import { type Arm, type Caught, catchesOf, chanceOf, decadeOf, GRID } from './measure.js';
import type { FrozenProblem } from './programs.js';
import type { CatchesRecord, Cell, Chances } from './records.js';

const MUTATED = 2000; // the number of distinct inputs that determine how rare a mistake is

/** @param problems the largest number of problems; by default all */
export function measureChances(family: FrozenFamily, split: Split, problems?: number): Chances {
  const own = FROZEN[family](split).slice(0, problems);
  const chances = own.map((problem): [string, number[]] => {
    const inputs = freshInputs(problem.known, MUTATED, new RandomStream('catches', 'chances', problem.id));
    return [problem.id, chanceOf(problem, inputs)];
  });
  return { kind: 'chances', family, split, chances: Object.fromEntries(chances) };
}

export interface Measured {
  family: FrozenFamily;
  split: Split;
  problems?: number; // by default all
  seed: number;
  commit: string;
}

export function measureArm(
  { family, split, problems, seed, commit }: Measured,
  arm: Arm,
  { chances }: Chances,
  costs: Pick<CatchesRecord, 'model' | 'search'> = {},
): CatchesRecord {
  const own: FrozenProblem[] = FROZEN[family](split).slice(0, problems);
  const results = own.map((problem) => ({ problem, ...catchesOf(problem, arm, seed) }));
  const cells = new Map<string, Caught[]>();
  for (const { problem, caught } of results) {
    for (const [i, one] of caught.entries()) {
      const { stratum, flaw } = one.program;
      const decade = decadeOf(chances[problem.id]![i]!);
      for (const name of [stratum, `${stratum} ${flaw}`, `${stratum} ${decade}`])
        cells.set(name, [...(cells.get(name) ?? []), one]);
    }
  }
  const tested = results.filter(({ problem }) => problem.wrong.length > 0);
  return {
    kind: 'catches',
    family,
    split,
    arm: arm.name,
    seed,
    commit,
    cells: Object.fromEntries(
      [...cells].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, all]) => [name, cellOf(all)]),
    ),
    suite: tested.reduce((sum, { suite }) => sum + suite, 0) / tested.length,
    ...costs,
  };
}

const cellOf = (all: readonly Caught[]): Cell => ({
  count: all.length,
  caught: GRID.map((n) => all.filter(({ rank }) => rank <= n).length),
});
