// A family with rare triggers. A program has special cases, each of which applies if values equal constants within ±999: an
// argument, something computed from the arguments, or two of these at once.
import { groupBy } from '../../../core/base/groups.js';
import { RandomStream } from '../../../core/base/random.js';
import type { Split } from '../../../core/schema/problem.js';

export const STRATA = ['direct', 'computed', 'conjunctive'] as const;
export type Stratum = (typeof STRATA)[number];

export const LIMIT = 999; // the largest absolute value of all values and constants

/** The quantities that are compared with a constant: first those of the list, then those of the two numbers. */
export const LIST_QUANTITIES = ['has', 'sum', 'count', 'second', 'low', 'span'] as const;
export const NUMBER_QUANTITIES = ['a', 'b', 'plus', 'diff'] as const;
export type Quantity = (typeof LIST_QUANTITIES)[number] | (typeof NUMBER_QUANTITIES)[number];
const DIRECT = ['a', 'b', 'has'] as const satisfies readonly Quantity[];
const COMPUTED = ['sum', 'count', 'second', 'low', 'span', 'plus', 'diff'] as const satisfies readonly Quantity[];

/** A condition, which holds if the quantity equals `value`. */
export interface Atom {
  quantity: Quantity;
  value: number;
  over?: number; // 'count' counts the numbers above `over`
}

/** A special case: the program returns `result` if all atoms hold. */
export interface Rule {
  stratum: Stratum;
  atoms: Atom[];
  result: number;
}

/** The stratum of a rule, which follows from its conditions. */
export function stratumOf(atoms: readonly Atom[]): Stratum {
  if (atoms.length > 1) return 'conjunctive';
  return DIRECT.some((quantity) => quantity === atoms[0]?.quantity) ? 'direct' : 'computed';
}

export const BASES = ['total', 'length', 'plus', 'diff', 'less', 'largest', 'smallest', 'above'] as const;
export type Base = (typeof BASES)[number];

/** A program returns the result of the first rule that applies, otherwise the value of its base. */
export interface KeyholeSpec {
  base: Base;
  rules: Rule[];
}

export type KeyholeArgs = [nums: number[], a: number, b: number];

/** The kinds of the conditions of a problem. rules.ts adds their constants. */
export interface Shape {
  id: string;
  split: Split;
  base: Base;
  kinds: Record<Stratum, Quantity[]>;
}

/** The composition of a problem. Splits share no composition. */
export const compositionOf = ({ kinds }: Pick<Shape, 'kinds'>): string =>
  [...kinds.computed, ...kinds.conjunctive].join('-');

const COUNTS: Record<Split, number> = { train: 600, validation: 60, test: 120 };
const HELD_OUT = { test: 0.2, validation: 0.1 }; // the shares of the compositions

export function drawKinds(stratum: Stratum, random: RandomStream): Quantity[] {
  if (stratum === 'direct') return [random.choice(DIRECT)];
  if (stratum === 'computed') return [random.choice(COMPUTED)];
  return [random.choice(LIST_QUANTITIES), random.choice(NUMBER_QUANTITIES)];
}

/** The shapes of all problems. Order, ids and splits are fixed; compositions of the splits are disjoint. */
export function allShapes(): Shape[] {
  const compositions = COMPUTED.flatMap((computed) =>
    LIST_QUANTITIES.flatMap((list) => NUMBER_QUANTITIES.map((number) => [computed, list, number].join('-'))),
  );
  const shuffled = new RandomStream('keyhole', 'split').shuffle(compositions);
  const splitOf = (composition: string): Split => {
    const place = shuffled.indexOf(composition) / shuffled.length;
    return place < HELD_OUT.test ? 'test' : place < HELD_OUT.test + HELD_OUT.validation ? 'validation' : 'train';
  };
  const random = new RandomStream('keyhole', 'shapes');
  const left = { ...COUNTS };
  const shapes: Shape[] = [];
  while (Object.values(left).some((count) => count > 0)) {
    const base = random.choice(BASES);
    const kinds = {
      direct: drawKinds('direct', random),
      computed: drawKinds('computed', random),
      conjunctive: drawKinds('conjunctive', random),
    };
    const split = splitOf(compositionOf({ kinds }));
    if (left[split] === 0) continue;
    shapes.push({ id: `keyhole-${split}-${COUNTS[split] - left[split]}`, split, base, kinds });
    left[split]--;
  }
  const groups = groupBy(shapes, ({ split }) => split);
  return [...groups.values()].flat();
}
