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
  only?: ReadonlySet<string>; // wrong programs; by default all
  seed: number;
  commit: string;
}

export function measureArm(
  { family, split, problems, only, seed, commit }: Measured,
  arm: Arm,
  costs: Pick<CatchesRecord, 'model' | 'search'> = {},
): CatchesRecord {
  const all: FrozenProblem[] = FROZEN[family](split).slice(0, problems);
  const own = only ? all.map((one) => ({ ...one, wrong: one.wrong.filter(({ id }) => only.has(id)) })) : all;
  const cells = new Map<string, Caught[]>();
  for (const problem of own) {
    for (const one of catchesOf(problem, arm, seed)) {
      const { stratum, flaw } = one.program;
      for (const name of [stratum, `${stratum} ${flaw}`]) cells.set(name, [...(cells.get(name) ?? []), one]);
    }
  }
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
    ...costs,
  };
}

const cellOf = (all: readonly Caught[]): Cell => ({
  count: all.length,
  caught: GRID.map((n) => all.filter(({ rank }) => rank <= n).length),
});
