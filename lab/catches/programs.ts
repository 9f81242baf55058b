// Frozen wrong programs as the measurement sees them, whatever their family.
import type { RandomStream } from '../../core/base/random.js';
import type { Value } from '../../core/schema/value.js';

export type Args = readonly Value[];

export interface Step {
  condition: string;
  distance: number; // from holding
}

/** A program whose results this process can compute. */
export interface Program {
  code: string;
  run(args: Args): string; // equal texts are equal results
  trace?(args: Args): Step[]; // the conditions that ran; absent: the family has none
}

export interface WrongProgram extends Program {
  id: string;
  stratum: string;
  flaw: string;
  byHand(random: RandomStream): Iterable<Value[]>; // an expert's inputs for this program
}

export interface FrozenProblem {
  id: string;
  description: string;
  known: Value[][]; // of the baseline tests
  reference: Program;
  wrong: WrongProgram[];
  uniform(random: RandomStream): Value[]; // a typical input
}
