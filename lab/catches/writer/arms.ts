// The arms of the measurement whose inputs a model writes.
import { changes } from '../controls.js';
import type { Arm } from '../measure.js';
import type { Written } from './sample.js';

export const writerOf = (name: string, { inputs }: Written): Arm => ({
  name,
  perProgram: true,
  write: (_problem, program) => inputs[program.id] ?? [],
});

export interface Hybrid {
  writer: 'trained' | 'blind';
  seeds: number; // the number of inputs that the model writes, chosen on validation among 2, 4 and 6
}

/** The model writes a few inputs, and the control `dictionary` mutates them. */
export const HYBRIDS = {
  hybrid: { writer: 'trained', seeds: 2 },
  'blind-hybrid': { writer: 'blind', seeds: 4 },
} as const satisfies Record<string, Hybrid>;
export type HybridName = keyof typeof HYBRIDS;

export const hybridOf = (name: HybridName, { inputs }: Written): Arm => ({
  name,
  perProgram: true,
  *write(problem, program, random) {
    const seeds = (inputs[program.id] ?? []).slice(0, HYBRIDS[name].seeds);
    yield* seeds;
    yield* changes(seeds.length > 0 ? seeds : problem.known, problem, program, random);
  },
});
