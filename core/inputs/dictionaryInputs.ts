// Makes new inputs of a function from the inputs of its tests and from a dictionary: the whole numbers in the texts of the problem,
// and their neighbours. It finds triggers that a mutation of known inputs cannot reach (docs/adversary.md).
import type { RandomStream } from '../base/random.js';
import type { Value } from '../schema/value.js';
import { distinctInputs, freshInputs } from './freshInputs.js';

const MOST_CHANGES = 3; // the most changes of one input

/** The whole numbers in the texts, and their neighbours. */
export function constantsIn(...texts: string[]): number[] {
  const found = texts.flatMap((text) => (text.match(/-?\d+/g) ?? []).map(Number)).filter(Number.isSafeInteger);
  return [...new Set(found.flatMap((constant) => [constant, constant - 1, constant + 1]))];
}

/** Up to `count` distinct lists of arguments that are not among `known`. */
export function dictionaryInputs(
  known: readonly Value[][],
  constants: readonly number[],
  count: number,
  random: RandomStream,
): Value[][] {
  const changed = changedInputs(known, constants, random);
  return distinctInputs(known, count, () => changed.next().value);
}

/** Yields inputs endlessly: a seed with one to three changes. A change is a mutation, or a constant at a random place. */
export function* changedInputs(
  seeds: readonly Value[][],
  constants: readonly number[],
  random: RandomStream,
): Generator<Value[], never> {
  for (;;) {
    let input = random.choice(seeds);
    for (let left = random.int(1, MOST_CHANGES); left > 0; left--) {
      const numbers = countNumbers(input);
      if (constants.length === 0 || numbers === 0 || random.uniform() < 0.5) input = mutate(input, random);
      else {
        const place = random.int(0, numbers - 1);
        const constant = random.choice(constants);
        input = withNumber(input, (at) => (at === place ? constant : undefined)) as Value[];
      }
    }
    yield input;
  }
}

/** An input with one mutation; a plain copy if nothing can be mutated. */
export const mutate = (input: readonly Value[], random: RandomStream): Value[] =>
  freshInputs([input as Value[]], 1, random)[0] ?? [...input];

/** A copy in which numbers are replaced. @param replace is given the place of a number, in depth-first order */
export function withNumber(value: Value, replace: (at: number, value: number) => number | undefined): Value {
  let next = 0;
  const visit = (one: Value): Value => {
    if (typeof one === 'number') return replace(next++, one) ?? one;
    return Array.isArray(one) ? one.map(visit) : one;
  };
  return visit(value);
}

export function countNumbers(value: Value): number {
  if (typeof value === 'number') return 1;
  return Array.isArray(value) ? value.reduce<number>((sum, one) => sum + countNumbers(one), 0) : 0;
}
