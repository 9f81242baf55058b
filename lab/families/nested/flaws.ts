// The flaws of the corpus: those of the tiny family in both steps, and some that exist only where there are two.
import type { RandomStream } from '../../../core/random.js';
import { STAGES, type Stage } from '../../../core/schema/chain.js';
import type { Reading, Spec } from '../tiny/family.js';
import { drawReading as drawTinyReading, type Flaw as TinyFlaw, type FlawRates as TinyRates } from '../tiny/flaws.js';
import { type NestedReading, type NestedSpec, OUTER_REDUCES } from './family.js';
import { renderStage } from './render.js';

export type Flaw = `${'inner' | 'outer'} ${TinyFlaw | 'filter'}` | 'exchange';

/** The probability of each flaw, in specs that allow it. */
export interface FlawRates {
  inner: TinyRates;
  outer: TinyRates;
  innerFilter: number; // the first filter is forgotten
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

/** For the chains of the corpus. The flaws above one half are systematic: greedy decoding shows them too. */
export const CHAIN_FLAWS: FlawRates = {
  inner: { ...STEP, guardEnds: 0.6 },
  outer: { ...STEP, atMost: 0.6 },
  innerFilter: 0.03,
  outerFilter: 0.1,
  exchange: 0.04,
};

const TEST_STEP: TinyRates = { ...STEP, strict: 0.4, atMost: 0.5, parity: 0.3, guardMax: 0, guardMin: 0, guardEnds: 0 };

/** For the readings behind flawed tests: any flaw that gives another value, never a missing guard. */
export const TEST_FLAWS: FlawRates = {
  inner: { ...TEST_STEP, reduce: 0.3, map: 0.3 },
  outer: { ...TEST_STEP, reduce: 0.3 },
  innerFilter: 0.3,
  outerFilter: 0.3,
  exchange: 0.2,
};

/** Draws a reading of `spec` and its flaws. The number of random draws does not depend on the spec. */
export function drawReading(
  spec: NestedSpec,
  rates: FlawRates,
  random: RandomStream,
): { reading: NestedReading; flaws: Flaw[] } {
  const flaws: Flaw[] = [];
  const read = (step: 'inner' | 'outer'): Reading => {
    const { reading, flaws: own } = drawTinyReading(spec[step], rates[step], random);
    const forgets = random.uniform() < rates[`${step}Filter`] && reading.filter !== 'all';
    flaws.push(...own.map((flaw): Flaw => `${step} ${flaw}`), ...(forgets ? [`${step} filter` as const] : []));
    return forgets ? { ...reading, filter: 'all' } : reading; // the signature keeps k
  };
  const reading: NestedReading = { ...spec, inner: read('inner'), outer: read('outer') };
  const exchanges = random.uniform() < rates.exchange && canExchange(reading);
  if (!exchanges) return { reading, flaws };
  const { inner, outer } = reading;
  return {
    reading: { ...reading, inner: { ...inner, reduce: outer.reduce }, outer: { ...outer, reduce: inner.reduce } },
    flaws: [...flaws, 'exchange'],
  };
}

/** Both steps can have the reduction of the other, and it is another one. */
const canExchange = ({ source, inner, outer }: NestedReading): boolean =>
  source === 'rows' &&
  inner.reduce !== outer.reduce &&
  inner.map === 'id' &&
  OUTER_REDUCES.includes(inner.reduce) &&
  outer.reduce !== 'list';

/** Systematic flaws always begin at the same stage, so that greedy decoding shows them too. */
function originOf(spec: NestedSpec, flaws: readonly Flaw[], random: RandomStream): Stage {
  const drawn = random.choice([1, 2, 2, 3, 3, 4, 5, 5] as const);
  const misreads = (step: 'inner' | 'outer', filter: Spec['filter']): boolean =>
    flaws.includes(`${step} comparison`) && spec[step].filter === filter;
  if (misreads('inner', 'ge') || misreads('outer', 'ge') || misreads('outer', 'le')) return 1;
  return flaws.includes('inner guard') || flaws.includes('outer guard') ? 5 : drawn;
}

/** The five answers of one chain. From the stage `origin` on they follow the flawed reading. */
export function drawChain(
  spec: NestedSpec,
  random: RandomStream,
): { stages: string[]; reading: NestedReading; flaws: Flaw[]; origin: Stage } {
  const { reading, flaws } = drawReading(spec, CHAIN_FLAWS, random);
  const origin = originOf(spec, flaws, random);
  const stages = STAGES.map((stage) => renderStage(stage >= origin ? reading : spec, stage, random));
  return { stages, reading, flaws, origin };
}
