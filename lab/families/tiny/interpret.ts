// Computes a reading of a spec without Python, with the same values and errors as its rendered code.
import type { MapKind, Reading } from './family.js';

export type Item = number | string;
export type Output = number | string | Item[];
/** The arguments in their order: a list of ints, an int or a string, then `k` if the spec takes one. */
export type Args = [number[] | number | string] | [number[] | number | string, number];
export type Outcome = { value: Output } | { error: 'ValueError' | 'IndexError' };

/** Python's %, whose result has the sign of the divisor. */
export const floorMod = (a: number, b: number): number => ((a % b) + b) % b;

/** The elements in the order in which the loop visits them. */
function visit(reading: Reading, args: Args): Item[] {
  const [subject] = args;
  if (reading.source === 'range') {
    const last = (subject as number) - (reading.belowN ? 1 : 0);
    return Array.from({ length: Math.max(0, last) }, (_, i) => i + 1);
  }
  const items: Item[] = [...(subject as number[] | string)];
  return reading.skipsFirst ? items.slice(1) : items;
}

function keeps(reading: Reading, args: Args): (item: Item) => boolean {
  const threshold = (reading.threshold === 'k' ? args[1] : reading.threshold) as Item;
  const test: Record<Reading['filter'], (item: Item) => boolean> = {
    all: () => true,
    even: (x) => floorMod(x as number, 2) === 0,
    odd: (x) => floorMod(x as number, 2) === 1,
    pos: (x) => (x as number) > 0,
    neg: (x) => (x as number) < 0,
    gt: (x) => x > threshold,
    ge: (x) => x >= threshold,
    lt: (x) => x < threshold,
    le: (x) => x <= threshold,
    ne: (x) => x !== threshold,
    div: (x) => floorMod(x as number, threshold as number) === 0,
    vow: (c) => 'aeiou'.includes(c as string),
    con: (c) => !'aeiou'.includes(c as string),
    dig: (c) => /^[0-9]$/.test(c as string),
    upr: (c) => /^[A-Z]$/.test(c as string),
    eq: (c) => c === threshold,
    neq: (c) => c !== threshold,
  };
  return test[reading.filter];
}

const MAPS: Record<MapKind, (item: Item) => Item> = {
  id: (x) => x,
  dbl: (x) => (x as number) * 2,
  sq: (x) => (x as number) * (x as number),
  abs: (x) => Math.abs(x as number),
  inc: (x) => (x as number) + 1,
  neg: (x) => 0 - (x as number), // avoids -0
  up: (c) => (c as string).toUpperCase(),
  low: (c) => (c as string).toLowerCase(),
  rep: (c) => (c as string).repeat(2),
};

/** The selected elements before the map. */
export const keptItems = (reading: Reading, args: Args): Item[] => visit(reading, args).filter(keeps(reading, args));
/** The selected elements after the map. */
const usedItems = (reading: Reading, args: Args): Item[] => keptItems(reading, args).map(MAPS[reading.map]);

/** The value of a reading. An unguarded reduction of an empty selection fails as in Python. Text must be ASCII. */
export function interpret(reading: Reading, args: Args): Outcome {
  const used = usedItems(reading, args);
  const empty = used.length === 0;
  const guarded = (value: () => Output, error: 'ValueError' | 'IndexError'): Outcome => {
    if (!empty) return { value: value() };
    return reading.noGuard ? { error } : { value: reading.source === 'str' ? '' : 0 };
  };
  switch (reading.reduce) {
    case 'sum':
      return { value: (used as number[]).reduce((total, x) => total + x, 0) };
    case 'count':
      return { value: used.length };
    case 'list':
      return { value: used };
    case 'join':
      return { value: used.join('') };
    case 'rev':
      return { value: [...used].reverse().join('') };
    case 'max':
      return guarded(() => Math.max(...(used as number[])), 'ValueError');
    case 'min':
      return guarded(() => Math.min(...(used as number[])), 'ValueError');
    case 'first':
      return guarded(() => used[0]!, 'IndexError');
    case 'last':
      return guarded(() => used[used.length - 1]!, 'IndexError');
  }
}

/** @throws RangeError if there is no value */
export function outputOf(outcome: Outcome): Output {
  if ('error' in outcome) throw new RangeError(outcome.error);
  return outcome.value;
}

/** The value of a reading with a guard, which cannot fail. */
export const resultOf = (reading: Reading, args: Args): Output => outputOf(interpret(reading, args));

export function sameOutcome(a: Outcome, b: Outcome): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
