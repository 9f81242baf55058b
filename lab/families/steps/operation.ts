// An operation of the `steps` family: its English wording, its Python code, and its TypeScript function. A test compares the
// two functions. The slips of an operation are the mistakes that programmers make with it.

export interface Values {
  list: number[];
  text: string;
  number: number;
}
export type Domain = keyof Values;
export type StepValue = Values[Domain];

export interface Operation {
  kind: string; // for example 'keep-above'
  name: string; // unique, for example 'keep-above-3'
  from: Domain;
  to: Domain;
  tier: 1 | 2 | 3; // tiers 2 and 3 are for the higher levels
  words: readonly string[]; // three wordings in the imperative; training uses only the first two
  care: string; // says what must happen in cases that are easily forgotten
  python: readonly string[]; // statements, then one expression; $ is the variable
  points: readonly number[]; // the numbers at which the behaviour changes
  run: (value: StepValue) => StepValue;
  slips: readonly ((value: StepValue) => StepValue | undefined)[]; // a slip returns undefined if its program crashes
}

interface Fields<F extends Domain, T extends Domain> {
  words: string; // the wordings, separated by ' | '
  care: string;
  python: string | readonly string[];
  run: (value: Values[F]) => Values[T];
  slips: readonly ((value: Values[F]) => Values[T] | undefined)[];
  parameter?: number | string;
  points?: readonly number[];
  tier?: 1 | 2 | 3;
}

export function operation<F extends Domain, T extends Domain>(
  kind: string,
  from: F,
  to: T,
  fields: Fields<F, T>,
): Operation {
  const { words, care, python, run, slips, parameter, points, tier = 1 } = fields;
  return {
    kind,
    name: parameter === undefined ? kind : `${kind}-${parameter}`,
    from,
    to,
    tier,
    words: words.split(' | '),
    care,
    python: typeof python === 'string' ? [python] : python,
    points: points ?? (typeof parameter === 'number' ? [parameter] : []),
    run: run as unknown as Operation['run'],
    slips: slips as unknown as Operation['slips'],
  };
}

/** A condition on the numbers of a list or the characters of a string, from which several operations are made. */
export interface Condition<T> {
  name: string;
  words: string; // the words after 'that are', separated by ' | '
  care: string;
  python: string;
  holds: (item: T) => boolean;
  wrong: readonly ((item: T) => boolean)[];
  parameter?: number | string;
  points?: readonly number[];
}

/** The same function, but it crashes if there are no items. */
export const crashing =
  <V extends { length: number }, R>(run: (value: V) => R) =>
  (value: V): R | undefined =>
    value.length === 0 ? undefined : run(value);

/** Modulo and division as in Python. */
export const mod = (a: number, b: number): number => ((a % b) + b) % b;
export const sum = (items: readonly number[]): number => items.reduce((total, x) => total + x, 0);
export const times = <T>(count: number, item: (index: number) => T): T[] =>
  Array.from({ length: Math.max(0, count) }, (_, i) => item(i));
/** The lengths of the runs of equal neighbours. */
export const runLengths = (items: readonly unknown[]): number[] => {
  const lengths: number[] = [];
  for (const [i, item] of items.entries()) {
    if (i > 0 && item === items[i - 1]) lengths[lengths.length - 1]!++;
    else lengths.push(1);
  }
  return lengths;
};
