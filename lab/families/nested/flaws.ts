// Draws readings of a problem with flaws: the flaws of the tiny family in both steps, and flaws that need two steps.
import type { RandomStream } from '../../../core/base/random.js';
import type { Reading } from '../tiny/family.js';
import { drawReading as drawTinyReading, type Flaw as TinyFlaw, type FlawRates as TinyRates } from '../tiny/flaws.js';
import { type NestedReading, type NestedSpec, OUTER_REDUCES } from './family.js';

export type Flaw = `${'inner' | 'outer'} ${TinyFlaw | 'filter'}` | 'exchange';

/** The probability of each flaw, in specs that allow it. */
interface FlawRates {
  inner: TinyRates;
  outer: TinyRates;
  innerFilter: number; // forgets the first filter
  outerFilter: number;
  exchange: number; // the reductions are exchanged
}

const STEP: TinyRates = {
  atLeast: 0.65,
  atMost: 0.25,
  strict: 0.06,
  parity: 0.04,
  guardMax: 0.62,
  guardMin: 0.2,
  guardEnds: 0.2,
  end: 0,
  skip: 0.02,
  map: 0.05,
  reduce: 0.03,
};

/** Flaws with a probability above one half are systematic: a model that learned from such programs has them in greedy decoding. */
const RATES: FlawRates = {
  inner: { ...STEP, guardEnds: 0.6 },
  outer: { ...STEP, atMost: 0.6 },
  innerFilter: 0.03,
  outerFilter: 0.1,
  exchange: 0.04,
};

/** Draws a reading of `spec` and its flaws. The number of random draws does not depend on the spec. */
export function drawReading(spec: NestedSpec, random: RandomStream): { reading: NestedReading; flaws: Flaw[] } {
  const flaws: Flaw[] = [];
  const read = (step: 'inner' | 'outer'): Reading => {
    const { reading, flaws: own } = drawTinyReading(spec[step], RATES[step], random);
    const forgets = random.uniform() < RATES[`${step}Filter`] && reading.filter !== 'all';
    flaws.push(...own.map((flaw): Flaw => `${step} ${flaw}`), ...(forgets ? [`${step} filter` as const] : []));
    return forgets ? { ...reading, filter: 'all' } : reading; // the signature keeps k
  };
  const reading: NestedReading = { ...spec, inner: read('inner'), outer: read('outer') };
  const exchanges = random.uniform() < RATES.exchange && canExchange(reading);
  if (!exchanges) return { reading, flaws };
  const { inner, outer } = reading;
  return {
    reading: { ...reading, inner: { ...inner, reduce: outer.reduce }, outer: { ...outer, reduce: inner.reduce } },
    flaws: [...flaws, 'exchange'],
  };
}

/** Whether the reductions of both steps differ and can be exchanged. */
const canExchange = ({ source, inner, outer }: NestedReading): boolean =>
  source === 'rows' &&
  inner.reduce !== outer.reduce &&
  inner.map === 'id' &&
  OUTER_REDUCES.includes(inner.reduce) &&
  outer.reduce !== 'list';
