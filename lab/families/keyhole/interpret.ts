// Computes a program without Python, with the same values as its rendered code.
import type { Atom, Base, KeyholeArgs, KeyholeSpec, Quantity, Rule } from './family.js';

const sum = (nums: readonly number[]): number => nums.reduce((total, x) => total + x, 0);
const sorted = (nums: readonly number[]): number[] => nums.toSorted((x, y) => x - y);

/** Undefined if the list is too short for the quantity. */
const QUANTITIES: Record<Exclude<Quantity, 'has'>, (args: KeyholeArgs, atom: Atom) => number | undefined> = {
  a: ([, a]) => a,
  b: ([, , b]) => b,
  plus: ([, a, b]) => a + b,
  diff: ([, a, b]) => a - b,
  sum: ([nums]) => sum(nums),
  count: ([nums], { over = 0 }) => nums.filter((x) => x > over).length,
  second: ([nums]) => sorted(nums).at(-2),
  low: ([nums]) => sorted(nums)[1],
  span: ([nums]) => (nums.length === 0 ? undefined : Math.max(...nums) - Math.min(...nums)),
};

/** The value of the quantity. For 'has', it is the number that is nearest to the constant. */
export function quantityOf(atom: Atom, args: KeyholeArgs): number | undefined {
  if (atom.quantity !== 'has') return QUANTITIES[atom.quantity](args, atom);
  const far = (x: number): number => Math.abs(x - atom.value);
  return args[0].toSorted((x, y) => far(x) - far(y))[0];
}

export const holds = (atom: Atom, args: KeyholeArgs): boolean => quantityOf(atom, args) === atom.value;

export const applies = ({ atoms }: Rule, args: KeyholeArgs): boolean => atoms.every((atom) => holds(atom, args));

const BASE_VALUES: Record<Base, (args: KeyholeArgs) => number> = {
  total: ([nums, a]) => sum(nums) + a,
  length: ([nums, , b]) => nums.length + b,
  plus: ([, a, b]) => a + b,
  diff: ([, a, b]) => a - b,
  less: ([nums, , b]) => sum(nums) - b,
  largest: ([nums, , b]) => Math.max(...nums, b),
  smallest: ([nums, a]) => Math.min(...nums, a),
  above: ([nums, a]) => sum(nums.filter((x) => x > a)),
};

export function interpretKeyhole({ base, rules }: KeyholeSpec, args: KeyholeArgs): number {
  return rules.find((rule) => applies(rule, args))?.result ?? BASE_VALUES[base](args);
}
