// The problem family of the embedded model: all combinations of source × filter × map × reduce. Combinations are assigned to
// splits, so that training never sees the combination of a held-out problem.
import { RandomStream } from '../../../core/base/random.js';
import type { Split } from '../../../core/schema/problem.js';

type Source = 'list' | 'range' | 'str';
export type NumberFilter = 'all' | 'even' | 'odd' | 'pos' | 'neg' | 'gt' | 'ge' | 'lt' | 'le' | 'ne' | 'div';
export type TextFilter = 'all' | 'vow' | 'con' | 'dig' | 'upr' | 'eq' | 'neq';
export type FilterKind = NumberFilter | TextFilter;
export type NumberMap = 'id' | 'dbl' | 'sq' | 'abs' | 'inc' | 'neg';
export type TextMap = 'id' | 'up' | 'low' | 'rep';
export type MapKind = NumberMap | TextMap;
export type Reduce = 'sum' | 'count' | 'max' | 'min' | 'list' | 'first' | 'last' | 'join' | 'rev';

/** The operand of a filter's comparison: a literal number, a literal character, the argument `k`, or nothing. */
export type Threshold = number | string | null;

/** The specification of a program. A `threshold` of 'k' is an argument and needs a source of numbers. */
export interface Spec {
  source: Source;
  filter: FilterKind;
  threshold: Threshold;
  map: MapKind;
  reduce: Reduce;
}

/** A spec as a chain understands it, possibly with flaws (flaws.ts). */
export interface Reading extends Spec {
  noGuard?: boolean; // does not handle an empty selection
  belowN?: boolean; // uses range(1, n)
  skipsFirst?: boolean; // uses nums[1:]
}

/** `id` is stable, because it names the spec. */
export interface TinyProblem extends Spec {
  id: string;
  split: Split;
}

export const NUMBER_MAPS: readonly NumberMap[] = ['id', 'dbl', 'sq', 'abs', 'inc', 'neg'];
const TEXT_MAPS: readonly TextMap[] = ['id', 'up', 'low', 'rep'];

/** Reductions that have no value for an empty selection. A program must handle this case. */
const GUARDED: readonly Reduce[] = ['max', 'min', 'first', 'last'];
export const isGuarded = (spec: Spec): boolean => GUARDED.includes(spec.reduce);

export const comparesOrder = (filter: FilterKind): filter is 'gt' | 'ge' | 'lt' | 'le' =>
  filter === 'gt' || filter === 'ge' || filter === 'lt' || filter === 'le';

/** The names of the arguments, in their order. */
export function argumentNames(spec: Spec): string[] {
  const first = { list: 'nums', range: 'n', str: 's' }[spec.source];
  return spec.source !== 'str' && spec.threshold === 'k' ? [first, 'k'] : [first];
}

export const compositionOf = (spec: Spec): string => [spec.source, spec.filter, spec.map, spec.reduce].join('-');
const idOf = (spec: Spec): string =>
  `tiny-${compositionOf(spec)}${spec.threshold === null ? '' : `-${spec.threshold}`}`;

export type FilterChoice = readonly [FilterKind, Threshold];
const THRESHOLDS: readonly (number | 'k')[] = [1, 2, 3, 4, 5, 'k'];
export const NUMBER_FILTERS: readonly FilterChoice[] = [
  ...(['all', 'even', 'odd', 'pos', 'neg'] as const).map((kind): FilterChoice => [kind, null]),
  ...(['gt', 'ge', 'lt', 'le'] as const).flatMap((kind) => THRESHOLDS.map((value): FilterChoice => [kind, value])),
  ...([2, 3, 4, 'k'] as const).map((value): FilterChoice => ['ne', value]),
  ...[3, 4, 5].map((value): FilterChoice => ['div', value]),
];
export const TEXT_FILTERS: readonly FilterChoice[] = [
  ...(['all', 'vow', 'con', 'dig', 'upr'] as const).map((kind): FilterChoice => [kind, null]),
  ...(['eq', 'neq'] as const).flatMap((kind) => ['a', 'b', 'e'].map((value): FilterChoice => [kind, value])),
];

/**
 * The source 1..n contains every number from 1 on. So an input that selects something contains 3 for the filter "at least 3", and 1
 * for "at most 1". Such problems have no happy path and are left out, as are comparisons with 0.
 */
function suitsRange([kind, value]: FilterChoice): boolean {
  if (kind === 'pos' || kind === 'neg') return false;
  if (typeof value !== 'number') return true;
  if (kind === 'gt' || kind === 'ge') return false;
  return !((kind === 'lt' || kind === 'le') && value === 1);
}

function enumerate(): Spec[] {
  const specs: Spec[] = [];
  const add = (source: Source, [filter, threshold]: FilterChoice, map: MapKind, reduce: Reduce): void => {
    specs.push({ source, filter, threshold, map, reduce });
  };
  for (const filter of NUMBER_FILTERS) {
    for (const reduce of ['sum', 'max', 'min', 'list', 'first', 'last'] as const) {
      for (const map of NUMBER_MAPS) add('list', filter, map, reduce);
    }
    add('list', filter, 'id', 'count');
  }
  for (const filter of NUMBER_FILTERS.filter(suitsRange)) {
    for (const reduce of ['sum', 'list'] as const) {
      for (const map of ['id', 'dbl', 'sq', 'inc'] as const) add('range', filter, map, reduce);
    }
    add('range', filter, 'id', 'max');
    add('range', filter, 'id', 'count');
  }
  for (const filter of TEXT_FILTERS) {
    for (const map of TEXT_MAPS) {
      for (const reduce of ['join', 'rev', 'first', 'last'] as const) add('str', filter, map, reduce);
    }
    add('str', filter, 'id', 'count');
  }
  return specs;
}

const SPLIT_SEED = 'tiny-split-7'; // chosen because its splits have similar shares of flawed chains (0.41 to 0.42)
const HELD_OUT = { test: 0.15, validation: 0.09 }; // the shares of each source, which are assigned in whole compositions

/** The split of every composition. Shuffles the compositions of each source, then assigns them to the splits. */
function splitCompositions(specs: readonly Spec[]): Map<string, Split> {
  const splits = new Map<string, Split>();
  for (const source of ['list', 'range', 'str'] as const) {
    const sizes = new Map<string, number>();
    for (const spec of specs.filter((candidate) => candidate.source === source)) {
      sizes.set(compositionOf(spec), (sizes.get(compositionOf(spec)) ?? 0) + 1);
    }
    const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    const room = { test: HELD_OUT.test * total, validation: HELD_OUT.validation * total };
    for (const composition of new RandomStream(SPLIT_SEED, source).shuffle([...sizes.keys()].sort())) {
      const split: Split = room.test > 0 ? 'test' : room.validation > 0 ? 'validation' : 'train';
      if (split !== 'train') room[split] -= sizes.get(composition)!;
      splits.set(composition, split);
    }
  }
  return splits;
}

/** Every problem of the family. Order, ids and split are fixed. The splits share no composition. */
export function allProblems(): TinyProblem[] {
  const specs = enumerate();
  const splits = splitCompositions(specs);
  return specs.map((spec) => ({ ...spec, id: idOf(spec), split: splits.get(compositionOf(spec))! }));
}
