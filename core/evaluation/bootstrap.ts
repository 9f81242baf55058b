// Intervals and p-values by resampling problems (Efron 1979): problems differ more than samples of one problem.
import { RandomStream } from '../base/random.js';
import { mean } from '../rewards/rates.js';
import { type Interval, meanShareInterval, shareInterval } from './intervals.js';

const DRAWS = 2000;
const LEVEL = 0.95;

export interface Estimate extends Interval {
  value: number;
}

/** Computes a figure from the results of problems; undefined if there is nothing to count. */
type MetricOf<T> = (problems: readonly T[]) => number | undefined;

/** The difference `b` − `a` on the same problems. */
export interface Comparison extends Estimate {
  p: number; // the two-sided p-value; at least 1 / DRAWS, and that of a sign test if all differing problems agree
}

/**
 * Undefined if the metric is undefined. The interval of a share is Wilson's, with the standard error of the resamples; that of
 * a difference lies between percentiles.
 */
export function estimate<T>(problems: readonly T[], metric: MetricOf<T>, isShare = true): Estimate | undefined {
  const value = metric(problems);
  if (value === undefined) return undefined;
  const draws = resamples(problems.length).flatMap((picked) => metric(picked.map((i) => problems[i]!)) ?? []);
  if (!isShare) return { value, ...intervalOf(draws, value, problems.length) };
  const center = mean(draws);
  const error = Math.sqrt(mean(draws.map((draw) => (draw - center) ** 2)));
  return { value, ...meanShareInterval(value, error, problems.length)! };
}

/** Compares in pairs: each resample has the same problems on both sides. @throws RangeError if the problems differ */
export function compare<T extends { id: string }>(
  a: readonly T[],
  b: readonly T[],
  metric: MetricOf<T>,
): Comparison | undefined {
  if (a.length !== b.length || a.some(({ id }, i) => id !== b[i]!.id))
    throw new RangeError('only results on the same problems can be compared');
  const difference = (picked: readonly number[]): number | undefined => {
    const [before, after] = [a, b].map((results) => metric(picked.map((i) => results[i]!)));
    return before === undefined || after === undefined ? undefined : after - before;
  };
  const value = difference(a.map((_, i) => i));
  if (value === undefined) return undefined;
  const draws = resamples(a.length).flatMap((picked) => difference(picked) ?? []);
  const share = (is: (draw: number) => boolean): number => draws.filter(is).length / draws.length;
  const tail = Math.min(
    share((draw) => draw <= 0),
    share((draw) => draw >= 0),
  );
  const differing = a.filter((problem, i) => metric([problem]) !== metric([b[i]!])).length;
  const p = Math.min(1, Math.max(2 * tail, 1 / DRAWS, 2 ** (1 - differing)));
  return { value, ...intervalOf(draws, value, a.length), p };
}

/** The latest resamples. All metrics use the same resamples of the same problems. */
let latest: number[][] = [];

function resamples(count: number): number[][] {
  if (latest[0]?.length === count) return latest;
  const random = new RandomStream('bootstrap', count);
  latest = Array.from({ length: DRAWS }, () => Array.from({ length: count }, () => random.int(0, count - 1)));
  return latest;
}

/** If all draws are equal, the interval is as wide as that of a share of 0 or 1: the next problem may be the first other one. */
function intervalOf(draws: number[], value: number, count: number): Interval {
  const sorted = draws.toSorted((x, y) => x - y);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))]!;
  const [low, high] = [at((1 - LEVEL) / 2), at((1 + LEVEL) / 2)];
  if (low < high) return { low, high };
  const width = shareInterval(0, count).high;
  return { low: Math.max(-1, value - width), high: Math.min(1, value + width) };
}
