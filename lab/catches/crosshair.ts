// Inputs on which CrossHair 0.0.113 says that a wrong program differs from its reference (`diffbehavior --per_condition_timeout 10
// --exception_equivalence ALL`). They are data, because a program takes ten seconds or more; docs/notebook.md has the method.
import type { Value } from '../../core/schema/value.js';
import { LabError } from '../flags.js';
import type { FrozenFamily } from './frozen.js';
import type { Arm } from './measure.js';
import { callsCosting } from './prices.js';
import { rowsIn } from './records.js';

interface Found {
  family: FrozenFamily | 'real';
  id: string; // of the wrong program; its place among those of real models
  inputs: Value[][];
  seconds: number; // of CPU
}

/** By the ids of the programs that CrossHair was given: samples of `keyhole-fresh` and `nested`, one for each real problem. */
export const crosshairFound = (family: Found['family']): ReadonlyMap<string, Found> =>
  new Map(rowsIn<Found>('crosshair.jsonl.gz').flatMap((one) => (one.family === family ? [[one.id, one]] : [])));

export function crosshairArm(family: FrozenFamily): { arm: Arm; search: number; only: ReadonlySet<string> } {
  const found = crosshairFound(family);
  if (found.size === 0) throw new LabError(`--arms: crosshair was not given programs of ${family}`, 2);
  const seconds = [...found.values()].reduce((sum, one) => sum + one.seconds, 0) / found.size;
  return {
    arm: { name: 'crosshair', perProgram: true, write: (_, { id }) => found.get(id)!.inputs },
    search: callsCosting(seconds),
    only: new Set(found.keys()),
  };
}
