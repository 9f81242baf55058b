// A family that is harder than tiny, for a base model of the same kind. A program computes a value from each list of `rows`, or
// from each word of `words`, and then selects from these values. Both steps are specs of the tiny family.
import { groupBy } from '../../../core/base/groups.js';
import { RandomStream } from '../../../core/base/random.js';
import type { Split } from '../../../core/schema/problem.js';
import {
  type FilterChoice,
  type FilterKind,
  NUMBER_FILTERS,
  NUMBER_MAPS,
  type Reading,
  type Reduce,
  type Spec,
  TEXT_FILTERS,
} from '../tiny/family.js';

export type NestedSource = 'rows' | 'words';

/** The inner spec reads one list or word; the outer spec reads the list of the inner results. One of the specs may use `k`. */
export interface NestedSpec {
  source: NestedSource;
  inner: Spec;
  outer: Spec;
}

/** A spec as a chain understands it, possibly with flaws. */
export interface NestedReading extends NestedSpec {
  inner: Reading;
  outer: Reading;
}

/** `id` is stable, because it names the spec. */
export interface NestedProblem extends NestedSpec {
  id: string;
  split: Split;
}

export const takesK = ({ inner, outer }: NestedSpec): boolean => inner.threshold === 'k' || outer.threshold === 'k';

const INNER_REDUCES: readonly Reduce[] = ['sum', 'count', 'max', 'min', 'first', 'last'];
export const OUTER_REDUCES: readonly Reduce[] = ['sum', 'count', 'max', 'min', 'list'];
const PROBLEMS: Record<NestedSource, number> = { rows: 1200, words: 400 };

const nameOf = ({ filter, threshold, map, reduce }: Spec): string =>
  [filter, threshold, map === 'id' ? null : map, reduce].filter((part) => part !== null).join('.');
const idOf = ({ source, inner, outer }: NestedSpec): string => `nested-${source}-${nameOf(inner)}-${nameOf(outer)}`;

/** The composition of a spec: the kinds of both filters, and both reductions. Splits share no composition. */
export const compositionOf = ({ source, inner, outer }: NestedSpec): string =>
  [source, inner.filter, inner.reduce, outer.filter, outer.reduce].join('-');

function drawSpec(source: NestedSource, random: RandomStream): NestedSpec {
  // chooses the kind of filter first, so that kinds with many thresholds are not preferred
  const filterFrom = (filters: readonly FilterChoice[]): FilterChoice => {
    const kind: FilterKind = random.choice([...new Set(filters.map(([name]) => name))]);
    return random.choice(filters.filter(([name]) => name === kind));
  };
  const [innerFilter, innerThreshold] = filterFrom(source === 'rows' ? NUMBER_FILTERS : TEXT_FILTERS);
  const innerReduce = source === 'rows' ? random.choice(INNER_REDUCES) : 'count';
  const mapped = source === 'rows' && innerReduce !== 'count' && random.uniform() < 0.5;
  const inner: Spec = {
    source: source === 'rows' ? 'list' : 'str',
    filter: innerFilter,
    threshold: innerThreshold,
    map: mapped ? random.choice(NUMBER_MAPS.filter((map) => map !== 'id')) : 'id',
    reduce: innerReduce,
  };
  const [filter, threshold] = filterFrom(NUMBER_FILTERS.filter(([, value]) => value !== 'k' || innerThreshold !== 'k'));
  return {
    source,
    inner,
    outer: { source: 'list', filter, threshold, map: 'id', reduce: random.choice(OUTER_REDUCES) },
  };
}

const HELD_OUT = { test: 0.15, validation: 0.1 }; // the shares of each source, which are assigned in whole compositions

/** Shuffles the compositions of a source, then assigns them to test, validation and train. */
function split(specs: readonly NestedSpec[], source: NestedSource): NestedProblem[] {
  const groups = groupBy(specs, compositionOf);
  const room = { test: HELD_OUT.test * specs.length, validation: HELD_OUT.validation * specs.length };
  return new RandomStream('nested', 'split', source).shuffle([...groups.values()]).flatMap((group) => {
    const part: Split = room.test > 0 ? 'test' : room.validation > 0 ? 'validation' : 'train';
    if (part !== 'train') room[part] -= group.length;
    return group.map((spec) => ({ ...spec, id: idOf(spec), split: part }));
  });
}

/** Every problem of the family that `isGood` accepts. Order, ids and splits are fixed. The splits share no composition. */
export function drawProblems(isGood: (spec: NestedSpec) => boolean): NestedProblem[] {
  return (['rows', 'words'] as const).flatMap((source) => {
    const random = new RandomStream('nested', 'specs', source);
    const specs = new Map<string, NestedSpec>();
    for (let tries = 0; tries < 20 * PROBLEMS[source] && specs.size < PROBLEMS[source]; tries++) {
      const spec = drawSpec(source, random);
      if (!specs.has(idOf(spec)) && isGood(spec)) specs.set(idOf(spec), spec);
    }
    return split([...specs.values()], source);
  });
}
