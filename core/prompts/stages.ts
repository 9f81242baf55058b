// The five stages as data.
import type { Stage } from '../schema/chain.js';

export interface StageSpec {
  title: string;
  instruction: string; // what the generator is asked to write
  focus: string; // what the discriminator's tests aim at
}

export const STAGE_SPECS: Readonly<Record<Stage, StageSpec>> = {
  1: {
    title: 'Informal reasoning',
    instruction:
      'Think about the problem in plain words. What is really being asked, what goes in, what comes out, and what is your first idea for solving it? Do not write code yet. Two or three sentences.',
    focus: 'basic behaviour: a typical input (the happy path), empty input, and a single element',
  },
  2: {
    title: 'Structured reasoning',
    instruction:
      'Break the solution down. List the key observations, the steps of the approach in order, and every edge case with the result it must give. Do not write code yet. At most six short lines.',
    focus: 'boundary values, and the edge cases that the reasoning names or forgets (duplicates, no solution, limits)',
  },
  3: {
    title: 'Pseudocode',
    instruction:
      'Write the algorithm as pseudocode: every loop with its exact bounds, every condition, every value that is returned. No Python yet. At most twelve lines.',
    focus: 'loop bounds, off-by-one errors, order of operations, and other corners of this algorithm',
  },
  4: {
    title: 'Constraints and invariants',
    instruction:
      'State the constraints on the inputs, the invariants that hold in every loop, the conditions on the result, and the time and space complexity. Say which inputs are the most dangerous. At most six short lines.',
    focus:
      'inputs that violate a stated constraint or invariant, negative and extreme values, and larger inputs that stress the complexity',
  },
  5: {
    title: 'Executable code',
    instruction:
      'Now write the final solution in Python. Use exactly the given signature, follow your reasoning above, and handle every edge case. Answer with one ```python code block that holds the whole program and nothing else.',
    focus:
      'tricky inputs and unexpected combinations that break this very code: read it line by line and aim at its weakest one',
  },
};
