// Makes new inputs of a function from the inputs of its tests: neighbours of known values, among them edge cases. The reference
// solution decides whether an input is valid.
import type { RandomStream } from '../base/random.js';
import { isTuple } from '../parse/arithmetic.js';
import { salvageInputs } from '../parse/inputs.js';
import { floatValue, toFloat } from '../parse/numbers.js';
import type { Problem, TestCase } from '../schema/problem.js';
import type { Value } from '../schema/value.js';

/** Problem id → tests with fresh inputs and the answers of the reference. */
export type FreshTests = Record<string, TestCase[]>;

const TRIES = 20; // draws for each wanted input
const MOST_CALLS = 32; // the most calls that are read in test source

/** The arguments of a problem's baseline tests. Without such tests: the literal arguments of calls in its test source. */
export function knownInputs({ baselineTests, testSource = '', entry }: Problem): Value[][] {
  if (baselineTests.length > 0) return baselineTests.map(({ args }) => args);
  return salvageInputs(testSource, { entry, limit: MOST_CALLS }).inputs;
}

/** Up to `count` distinct lists of arguments that are not among `known`. @param draw gives a list, perhaps a known one */
export function distinctInputs(known: readonly Value[][], count: number, draw: () => Value[]): Value[][] {
  const seen = new Set(known.map((args) => JSON.stringify(args)));
  const found: Value[][] = [];
  for (let tries = 0; known.length > 0 && tries < TRIES * count && found.length < count; tries++) {
    const args = draw();
    const key = JSON.stringify(args);
    if (!seen.has(key)) found.push(args);
    seen.add(key);
  }
  return found;
}

export const freshInputs = (known: readonly Value[][], count: number, random: RandomStream): Value[][] =>
  distinctInputs(known, count, () => {
    const start = random.choice(known);
    const args = start.map((arg, at) => {
      const other = random.choice(known)[at] ?? arg;
      return random.uniform() < 0.3 ? other : arg;
    });
    if (args.length > 0) {
      const at = random.int(0, args.length - 1);
      args[at] = neighbour(args[at]!, random);
    }
    return args;
  });

/** A copy of lists and tuples with other leaves, in depth-first order. */
export function mapLeaves(value: Value, leaf: (one: Value) => Value): Value {
  if (Array.isArray(value)) return value.map((one) => mapLeaves(one, leaf));
  return isTuple(value) ? { t: value.t.map((one) => mapLeaves(one, leaf)) } : leaf(value);
}

/** The value with the sign of every number changed. */
export const negated = <T extends Value | Value[]>(value: T): T =>
  mapLeaves(value, (one) => {
    if (typeof one === 'number') return 0 - one;
    const float = toFloat(one);
    return float === undefined ? one : floatValue(-float);
  }) as T;

/** A value of the same type that differs a little, or is empty. */
function neighbour(value: Value, random: RandomStream): Value {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return numberNear(value, random);
  if (typeof value === 'string') return [...textNear([...value], random)].join('');
  if (Array.isArray(value)) return listNear(value, random);
  if (isTuple(value)) return { t: replaceOne(value.t, random) };
  if (value !== null && 'f' in value) return floatNear(toFloat(value)!, random);
  if (value !== null && 's' in value) return { s: random.choice([value.s.slice(1), value.s.slice(0, -1), []]) };
  if (value !== null && 'd' in value) return { d: random.choice([value.d.slice(1), value.d.slice(0, -1), []]) };
  return value; // other types, such as bytes, keep their known values
}

function numberNear(value: number, random: RandomStream): number {
  const near = random.choice([value - 1, value + 1, -value, 0, 1, value * 2, random.int(-10, 10)]);
  return Number.isSafeInteger(near) ? near : 0;
}

const floatNear = (value: number, random: RandomStream): Value =>
  floatValue(random.choice([value - 1, value + 1, -value, 0, value * 2, value / 2]));

const LETTERS = [...'abcxyzAEZ019 -'];

function textNear(letters: readonly string[], random: RandomStream): string[] {
  const at = random.int(0, Math.max(0, letters.length - 1));
  const withLetter = (change: (letter: string) => string) => letters.map((one, i) => (i === at ? change(one) : one));
  const ways = [
    () => [],
    () => [...letters].reverse(),
    () => [...letters, random.choice(LETTERS)],
    () => letters.filter((_, i) => i !== at),
    () => withLetter(() => random.choice(LETTERS)),
    () => withLetter((letter) => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase())),
  ];
  return random.choice(ways)();
}

function listNear(items: readonly Value[], random: RandomStream): Value[] {
  if (items.length === 0) return []; // the type of its elements is unknown
  const ways = [
    () => [],
    () => items.slice(0, 1),
    () => [...items].reverse(),
    () => [...items, random.choice(items)],
    () => items.filter((_, i) => i !== items.length - 1),
    () => random.shuffle(items),
    () => replaceOne(items, random),
    () => replaceOne(items, random),
  ];
  return random.choice(ways)();
}

function replaceOne(items: readonly Value[], random: RandomStream): Value[] {
  const at = random.int(0, Math.max(0, items.length - 1));
  return items.map((item, i) => (i === at ? neighbour(item, random) : item));
}
