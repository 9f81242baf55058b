// Types of frozen wrong programs that hold for every family.
import type { RandomStream } from '../../core/base/random.js';
import type { Value } from '../../core/schema/value.js';

export type Args = readonly Value[];

/** A program whose results this process can compute. */
export interface Program {
  code: string;
  run(args: Args): string; // two results are equal if their texts are equal
}

export interface WrongProgram extends Program {
  id: string;
  stratum: string;
  flaw: string;
  byHand(random: RandomStream): Iterable<Value[]>; // the inputs that an expert would write for this program
}

export interface FrozenProblem {
  id: string;
  description: string;
  known: Value[][]; // the inputs of the baseline tests
  reference: Program;
  wrong: WrongProgram[];
}
