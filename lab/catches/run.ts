// Measures one arm with one seed on one split.

import type { Split } from '../../core/schema/problem.js';
import { FROZEN, type FrozenFamily } from './frozen.js';
import { type Arm, type Caught, catchesOf, GRID } from './measure.js';
import type { FrozenProblem } from './programs.js';
import type { CatchesRecord, Cell } from './records.js';

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
  costs: Pick<CatchesRecord, 'model' | 'search'> = {},
): CatchesRecord {
  const own: FrozenProblem[] = FROZEN[family](split).slice(0, problems);
  const results = own.map((problem) => ({ problem, ...catchesOf(problem, arm, seed) }));
  const cells = new Map<string, Caught[]>();
  for (const { caught } of results) {
    for (const one of caught) {
      const { stratum, flaw } = one.program;
      for (const name of [stratum, `${stratum} ${flaw}`]) cells.set(name, [...(cells.get(name) ?? []), one]);
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
