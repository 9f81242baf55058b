// Writers of inputs that use no model. Each yields an endless sequence of inputs for one wrong program.

import type { RandomStream } from '../../core/base/random.js';
import { changedInputs, constantsIn, countNumbers, mutate, withNumber } from '../../core/inputs/dictionaryInputs.js';
import { freshInputs } from '../../core/inputs/freshInputs.js';
import type { Value } from '../../core/schema/value.js';
import type { Args, FrozenProblem, Step, WrongProgram } from './programs.js';

export interface Control {
  name: string;
  perProgram: boolean; // false if the inputs do not depend on the wrong program, so that all programs of a problem share them
  feedback?: true; // true if the writer must run each input before it draws the next one
  write(problem: FrozenProblem, program: WrongProgram, random: RandomStream): Iterable<Value[]>;
}

const BATCH = 100;

/** Yields mutations of `seeds`. Leaves out repetitions within a batch, as the product does. */
export function* mutations(seeds: readonly Value[][], random: RandomStream): Iterable<Value[]> {
  const seen = new Set<string>();
  for (let idle = 0; idle < 3; idle++) {
    for (const input of freshInputs(seeds, BATCH, random)) {
      const key = JSON.stringify(input);
      if (seen.has(key)) continue;
      seen.add(key);
      idle = -1;
      yield input;
    }
  }
}

const dictionary: Control['write'] = (problem, program, random) => changes(problem.known, problem, program, random);

/** Yields mutations of `seeds` with constants of the program, the reference and the description. */
export const changes = (
  seeds: readonly Value[][],
  problem: FrozenProblem,
  program: WrongProgram,
  random: RandomStream,
): Iterable<Value[]> =>
  changedInputs(seeds, constantsIn(program.code, problem.reference.code, problem.description), random);

const conditionsOf = (input: Args, problem: FrozenProblem, program: WrongProgram): Step[] =>
  [problem.reference, program].flatMap((one, i) =>
    one.trace!(input).map(({ condition, distance }) => ({ condition: `${i}.${condition}`, distance })),
  );

/** Mutates the known inputs, and inputs that reached a new outcome of a condition. */
function* coverage(problem: FrozenProblem, program: WrongProgram, random: RandomStream): Iterable<Value[]> {
  const seen = new Set<string>();
  const corpus = [...problem.known];
  const consider = (input: Value[]): void => {
    const outcomes = conditionsOf(input, problem, program).map((one) => `${one.condition}.${one.distance > 0}`);
    if (outcomes.some((outcome) => !seen.has(outcome))) corpus.push(input);
    for (const outcome of outcomes) seen.add(outcome);
  };
  for (const input of problem.known) consider(input);
  for (;;) {
    let input = mutate(random.choice(corpus), random);
    while (random.uniform() < 0.3) input = mutate(input, random);
    yield input;
    consider(input);
  }
}

/** Mutates the input that came nearest to a condition. Numbers also move by powers of two. */
function* distance(problem: FrozenProblem, program: WrongProgram, random: RandomStream): Iterable<Value[]> {
  const best = new Map<string, Step & { input: Value[] }>();
  const consider = (input: Value[]): void => {
    for (const step of conditionsOf(input, problem, program)) {
      if (step.distance <= (best.get(step.condition)?.distance ?? Number.POSITIVE_INFINITY))
        best.set(step.condition, { ...step, input });
    }
  };
  for (const input of problem.known) consider(input);
  for (;;) {
    const open = [...best.values()].filter((one) => one.distance > 0);
    const { input } = random.choice(open.length > 0 ? open : [...best.values()]);
    const next = random.uniform() < 0.3 ? mutate(input, random) : moved(input, random);
    yield next;
    consider(next);
  }
}

function moved(input: Value[], random: RandomStream): Value[] {
  const numbers = countNumbers(input);
  if (numbers === 0) return mutate(input, random);
  const place = random.int(0, numbers - 1);
  const by = random.choice([-1, 1]) * 2 ** random.int(0, 9);
  return withNumber(input, (at, value) => (at === place ? value + by : undefined)) as Value[];
}

/** Changes the order and length of known lists and texts. Exchanges numbers with known numbers at the same place. */
function* structure(problem: FrozenProblem, _program: WrongProgram, random: RandomStream): Iterable<Value[]> {
  const keep = (value: Value, at: number): Value => {
    const other = random.choice(problem.known)[at] ?? value;
    if (typeof value === 'string' && typeof other === 'string')
      return rearranged([...value], [...other], random).join('');
    if (Array.isArray(value) && Array.isArray(other)) return rearranged(value, other, random);
    return random.uniform() < 0.5 ? other : value;
  };
  for (;;) yield random.choice(problem.known).map(keep);
}

function rearranged<T>(items: readonly T[], other: readonly T[], random: RandomStream): T[] {
  const at = random.int(0, Math.max(0, items.length - 1));
  const ways = [
    () => random.shuffle(items), // swaps items
    () => [...items.slice(at), ...items.slice(0, at)], // rotates the items
    () => [...items.slice(0, at), ...other.slice(random.int(0, other.length))], // joins the items with a part of another list
    () => [...items.slice(0, at), ...items.slice(at, at + 1), ...items.slice(at)], // repeats an item
    () => items.filter((_, i) => i !== at),
    () => [...items],
  ];
  return random.choice(ways)();
}

function* uniform(problem: FrozenProblem, _program: WrongProgram, random: RandomStream): Iterable<Value[]> {
  for (;;) yield problem.uniform(random);
}

export const CONTROLS: readonly Control[] = [
  { name: 'mutation', perProgram: false, write: ({ known }, _program, random) => mutations(known, random) },
  { name: 'uniform', perProgram: false, write: uniform },
  { name: 'structure', perProgram: false, write: structure },
  { name: 'dictionary', perProgram: true, write: dictionary },
  { name: 'coverage', perProgram: true, feedback: true, write: coverage },
  { name: 'distance', perProgram: true, feedback: true, write: distance },
  { name: 'by-hand', perProgram: true, write: (_problem, program, random) => program.byHand(random) },
];
