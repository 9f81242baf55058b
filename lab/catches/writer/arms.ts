// Written inputs as arms of the measurement.
import { changes } from '../controls.js';
import type { Arm } from '../measure.js';
import type { Written } from './sample.js';

export const writerOf = (name: string, { inputs }: Written): Arm => ({
  name,
  perProgram: true,
  write: (_problem, program) => inputs[program.id] ?? [],
});

export const HYBRID_SEEDS = 2; // inputs of the model, chosen on validation among 2, 4 and 6

/** The model writes seeds, and the changes of the control `dictionary` multiply them. */
export const hybridOf = ({ inputs }: Written): Arm => ({
  name: 'hybrid',
  perProgram: true,
  *write(problem, program, random) {
    const seeds = (inputs[program.id] ?? []).slice(0, HYBRID_SEEDS);
    yield* seeds;
    yield* changes(seeds.length > 0 ? seeds : problem.known, problem, program, random);
  },
});
