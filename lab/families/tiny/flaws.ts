// Draws readings of a problem with flaws, like those in the chains that trained the shipped model.
import type { RandomStream } from '../../../core/base/random.js';
import { comparesOrder, type FilterKind, isGuarded, type Reading, type Reduce, type Spec } from './family.js';

export type Flaw = 'comparison' | 'parity' | 'guard' | 'end' | 'skip' | 'map' | 'reduce';

/** The probability of each flaw, in specs in which the flaw is possible. */
export interface FlawRates {
  atLeast: number; // writes '>' instead of '>='
  atMost: number; // writes '<' instead of '<='
  strict: number; // adds '=' to '>' or '<'
  parity: number; // exchanges even and odd, or vowel and not vowel
  guardMax: number;
  guardMin: number;
  guardEnds: number; // forgets the guard of first or last
  end: number; // uses range(1, n)
  skip: number; // skips the first element
  map: number; // forgets the map
  reduce: number; // exchanges the reduction: sum and count, largest and smallest, …
}

/** Three flaws are in more than half of the programs, and the others in 4 to 25 %. */
export const CHAIN_FLAWS: FlawRates = {
  atLeast: 0.62,
  atMost: 0.25,
  strict: 0.08,
  parity: 0.05,
  guardMax: 0.62,
  guardMin: 0.25,
  guardEnds: 0.15,
  end: 0.6,
  skip: 0.04,
  map: 0.05,
  reduce: 0.05,
};

const MOVED: Partial<Record<FilterKind, FilterKind>> = { gt: 'ge', ge: 'gt', lt: 'le', le: 'lt' };
const EXCHANGED: Partial<Record<FilterKind, FilterKind>> = { even: 'odd', odd: 'even', vow: 'con', con: 'vow' };
const CONFUSED: Partial<Record<Reduce, Reduce>> = {
  sum: 'count',
  max: 'min',
  min: 'max',
  first: 'last',
  last: 'first',
  rev: 'join',
  join: 'rev',
};

/** The spec with its comparison off by one; undefined if it compares nothing by order. */
export const withMovedComparison = (spec: Spec): Spec | undefined =>
  comparesOrder(spec.filter) ? { ...spec, filter: MOVED[spec.filter]! } : undefined;

function guardRate(spec: Spec, rates: FlawRates): number {
  if (!isGuarded(spec)) return 0;
  return spec.reduce === 'max' ? rates.guardMax : spec.reduce === 'min' ? rates.guardMin : rates.guardEnds;
}

function comparisonRate(spec: Spec, rates: FlawRates): number {
  if (!comparesOrder(spec.filter)) return 0;
  return spec.filter === 'ge' ? rates.atLeast : spec.filter === 'le' ? rates.atMost : rates.strict;
}

/** Draws a reading of `spec` and its flaws. The number of random draws does not depend on the spec. */
export function drawReading(spec: Spec, rates: FlawRates, random: RandomStream): { reading: Reading; flaws: Flaw[] } {
  const reading: Reading = { ...spec };
  const flaws: Flaw[] = [];
  const consider = (flaw: Flaw, rate: number, apply: () => void): void => {
    if (random.uniform() >= rate) return;
    apply();
    flaws.push(flaw);
  };
  consider('comparison', comparisonRate(spec, rates), () => {
    reading.filter = MOVED[spec.filter]!;
  });
  consider('parity', EXCHANGED[spec.filter] ? rates.parity : 0, () => {
    reading.filter = EXCHANGED[spec.filter]!;
  });
  consider('guard', guardRate(spec, rates), () => {
    reading.noGuard = true;
  });
  consider('end', spec.source === 'range' ? rates.end : 0, () => {
    reading.belowN = true;
  });
  consider('skip', spec.source === 'range' ? 0 : rates.skip, () => {
    reading.skipsFirst = true;
  });
  consider('map', spec.map === 'id' ? 0 : rates.map, () => {
    reading.map = 'id';
  });
  consider('reduce', CONFUSED[spec.reduce] ? rates.reduce : 0, () => {
    reading.reduce = CONFUSED[spec.reduce]!;
  });
  return { reading, flaws };
}
