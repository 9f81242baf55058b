// Draws the problems of the `steps` family: chains of operations, with an English description, a reference and tests.
import { groupBy } from '../../../core/base/groups.js';
import { RandomStream } from '../../../core/base/random.js';
import { type Problem, SPLITS, type Split } from '../../../core/schema/problem.js';
import { LIST_OPERATIONS } from './lists.js';
import { NUMBER_OPERATIONS } from './numbers.js';
import type { Domain, Operation } from './operation.js';
import { chooseTests, type Suite } from './tests.js';
import { TEXT_OPERATIONS } from './texts.js';
import { describe, program, reasoning, signature } from './wording.js';

export const OPERATIONS: readonly Operation[] = [...LIST_OPERATIONS, ...TEXT_OPERATIONS, ...NUMBER_OPERATIONS];
export const LEVELS = [1, 2, 3, 4, 5] as const;
export type Level = (typeof LEVELS)[number];

interface Shape {
  lengths: number[]; // the lengths of chains, in operations
  hard: number; // the smallest number of operations of tier 2 or 3
  stateful: number; // the smallest number of operations of tier 3
  problems: number; // the largest number of problems in the three splits together
  practice: number; // the largest number of further problems in the train split
  rewordings: number; // the largest number of rewordings of each problem in the train split
}

const SHAPES: Record<Level, Shape> = {
  1: { lengths: [1], hard: 0, stateful: 0, problems: 220, practice: 0, rewordings: 3 },
  2: { lengths: [2], hard: 0, stateful: 0, problems: 420, practice: 2000, rewordings: 0 },
  3: { lengths: [3], hard: 0, stateful: 0, problems: 120, practice: 0, rewordings: 0 },
  4: { lengths: [3, 4], hard: 2, stateful: 0, problems: 120, practice: 0, rewordings: 0 },
  5: { lengths: [4], hard: 3, stateful: 1, problems: 120, practice: 0, rewordings: 0 },
};
const HELD_OUT = 0.2; // the share of chains for validation, and also for test, in a level without practice
const TRIES = 40; // the number of chains that are drawn for each wanted problem

interface Chain {
  operations: readonly Operation[];
  suite: Suite;
}

const groupsOf = new Map<string, Operation[][]>(); // a cache, because a family draws many thousand operations

/** Groups of operations that take a domain, from some tiers. The first word of the kind is the group, such as 'keep' or 'sum'. */
function groupsFrom(domain: Domain, tiers: readonly number[]): Operation[][] {
  const key = `${domain} ${tiers.join()}`;
  let groups = groupsOf.get(key);
  if (groups === undefined) {
    const allowed = OPERATIONS.filter(({ from, tier }) => from === domain && tiers.includes(tier));
    groups = [...groupBy(allowed, ({ kind }) => kind.split('-')[0]).values()];
    groupsOf.set(key, groups);
  }
  return groups;
}

/** Draws an operation that takes a domain. Draws its group first, so that large groups are not preferred. */
function drawOperation(domain: Domain, tiers: readonly number[], random: RandomStream): Operation | undefined {
  const groups = groupsFrom(domain, tiers);
  return groups.length === 0 ? undefined : random.choice(random.choice(groups));
}

function drawChain(level: Level, random: RandomStream): Operation[] | undefined {
  const { lengths, hard, stateful } = SHAPES[level];
  let domain = random.choice(['list', 'list', 'text', 'text', 'number'] as const) as Domain;
  const length = random.choice(lengths);
  const tiers = random.shuffle([
    ...Array.from({ length: stateful }, () => [3]),
    ...Array.from({ length: hard - stateful }, () => [2]),
    ...Array.from({ length: length - hard }, () => (hard > 0 ? [1, 2] : [1])),
  ]);
  const chain: Operation[] = [];
  for (const tier of tiers) {
    const next = drawOperation(domain, tier, random);
    if (!next || chain.some(({ kind }) => kind === next.kind)) return undefined;
    chain.push(next);
    domain = next.to;
  }
  return chain;
}

/** Yields candidates: level 1 tries every simple operation, and the other levels draw chains. */
function* candidates(level: Level): Generator<Operation[]> {
  const random = new RandomStream('steps', 'chains', level);
  if (level === 1) {
    yield* random.shuffle(OPERATIONS.filter(({ tier }) => tier === 1)).map((one) => [one]);
    return;
  }
  const { problems, practice } = SHAPES[level];
  for (let tries = 0; tries < TRIES * (problems + practice); tries++) {
    const chain = drawChain(level, random);
    if (chain) yield chain;
  }
}

/** The next `count` candidates that are good problems. Calls `isNew` once for each candidate. */
function take(from: Generator<Operation[]>, count: number, isNew: (operations: Operation[]) => boolean): Chain[] {
  const chains: Chain[] = [];
  while (chains.length < count) {
    const { value: operations } = from.next();
    if (!operations) break;
    const suite = isNew(operations) ? chooseTests(operations) : undefined;
    if (suite) chains.push({ operations, suite });
  }
  return chains;
}

/** Adds a value. @returns whether the value is new */
const add = (set: Set<string>, value: string): boolean => set.size < set.add(value).size;

/** The composition of a chain: the kinds of its operations, in level 1 also the parameter. Splits share no composition. */
const compositionOf = (level: Level, operations: readonly Operation[]): string =>
  operations.map(({ kind, name }) => (level === 1 ? name : kind)).join(' > ');

const namesOf = (operations: readonly Operation[]): string => operations.map(({ name }) => name).join(', then ');

function toProblem(level: Level, { operations, suite }: Chain, split: Split, rewording = 0): Problem {
  const names = operations.map(({ name }) => name);
  const id = [`steps-${level}`, ...names, ...(rewording > 0 ? [`wording-${rewording + 1}`] : [])].join('-');
  return {
    id,
    title: namesOf(operations),
    description: describe(id, operations, split === 'train'),
    functionSignature: signature(operations),
    entry: 'solve',
    baselineTests: suite.baseline,
    hiddenTests: suite.hidden,
    referenceSolution: program(operations),
    reasoning: reasoning(operations),
    difficulty: `level ${level}`,
    tags: [...new Set([operations[0]!.from, ...operations.map(({ kind }) => kind)])],
    source: 'steps',
    comparison: 'strict',
  };
}

const loaded = new Map<Level, Record<Split, Problem[]>>();

/** A chain as a problem of the train split, and the same problem in other words. */
function reworded(level: Level, chain: Chain): Problem[] {
  const count = 1 + SHAPES[level].rewordings;
  const problems = Array.from({ length: count }, (_, rewording) => toProblem(level, chain, 'train', rewording));
  const texts = problems.map(({ description }) => description);
  return problems.filter((_, i) => texts.indexOf(texts[i]!) === i);
}

/** The problems of a level. The splits share no composition, but practice may repeat compositions of the train split. */
function loadLevel(level: Level): Record<Split, Problem[]> {
  const known = loaded.get(level);
  if (known) return known;
  const { problems, practice } = SHAPES[level];
  const composition = (operations: readonly Operation[]): string => compositionOf(level, operations);
  const source = candidates(level);
  const seen = new Set<string>();
  const drawn = take(source, problems, (operations) => add(seen, composition(operations)));
  const chains = new RandomStream('steps', 'split', level).shuffle(drawn);
  const held = Math.round(HELD_OUT * chains.length);
  const [test, validation, train] = [chains.slice(0, held), chains.slice(held, 2 * held), chains.slice(2 * held)];

  const heldOut = new Set([...test, ...validation].map(({ operations }) => composition(operations)));
  const names = new Set(train.map(({ operations }) => namesOf(operations)));
  const more = take(source, practice, (one) => !heldOut.has(composition(one)) && add(names, namesOf(one)));

  const part = (split: Split, from: Chain[]): Problem[] => from.map((chain) => toProblem(level, chain, split));
  const set = {
    train: [...train, ...more].flatMap((chain) => reworded(level, chain)),
    validation: part('validation', validation),
    test: part('test', test),
  };
  loaded.set(level, set);
  return set;
}

export function loadSteps(levels: readonly Level[]): Record<Split, Problem[]> {
  const load = (split: Split): Problem[] => levels.flatMap((level) => loadLevel(level)[split]);
  return Object.fromEntries(SPLITS.map((split) => [split, load(split)])) as Record<Split, Problem[]>;
}
