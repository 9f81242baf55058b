// Computes a reading without Python, with the same values and errors as its rendered code.
import { type Args, interpret, type Outcome, type Output, outputOf } from '../tiny/interpret.js';
import type { NestedReading } from './family.js';

/** The arguments in their order: lists or words, then `k` if the spec takes one. */
export type NestedArgs = [rows: (number[] | string)[], k?: number];

/** The value of each list or word that the loop visits; undefined if its reduction fails. */
function innerOutcomes({ inner, outer }: NestedReading, [rows, k = 0]: NestedArgs): Outcome[] {
  return rows.slice(outer.skipsFirst ? 1 : 0).map((row) => interpret(inner, [row, k]));
}

/** The value of a reading. The loop runs before the selection, so an error in the loop comes first. */
export function interpretNested(reading: NestedReading, args: NestedArgs): Outcome {
  const outcomes = innerOutcomes(reading, args);
  const failed = outcomes.find((outcome) => 'error' in outcome);
  return failed ?? interpret({ ...reading.outer, skipsFirst: false }, outerArgs(reading, args));
}

/** The arguments of the outer spec. No inner reduction may fail. */
export function outerArgs(reading: NestedReading, args: NestedArgs): Args {
  const values = innerOutcomes(reading, args).map((outcome) => ('value' in outcome ? (outcome.value as number) : 0));
  return [values, args[1] ?? 0];
}

/** The value of a reading that cannot fail. */
export const resultOf = (reading: NestedReading, args: NestedArgs): Output => outputOf(interpretNested(reading, args));
