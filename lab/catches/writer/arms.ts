// Written inputs as arms of the measurement.
import { mutations } from '../controls.js';
import type { Arm } from '../measure.js';
import type { Written } from './sample.js';

export const writerOf = (name: string, { inputs }: Written): Arm => ({
  name,
  perProgram: true,
  write: (_problem, program) => inputs[program.id] ?? [],
});

export const HYBRID_SEEDS = 4; // inputs of the model; then come mutations of them

/** The model writes seeds, mutation multiplies them. */
export const hybridOf = ({ inputs }: Written): Arm => ({
  name: 'hybrid',
  perProgram: true,
  *write(_problem, program, random) {
    const seeds = (inputs[program.id] ?? []).slice(0, HYBRID_SEEDS);
    yield* seeds;
    yield* mutations(seeds, random);
  },
});
