// Which answers can be equal to which expected values at all, without looking at every pair: numbers that must lie
// close together in equal values are sorted, and only pairs inside such a window are compared.
import type { Node } from './nodes.js';
import { interval, isLoose, type NumberView, realOf, type Tolerance } from './views.js';

const ROW_LEAVES = 6; // numbers at fixed places that are tried as the window, beside the least and the greatest

interface Feature {
  at: number;
  slack: number;
}

/** The least number, the greatest, then the first ones at fixed places. Nodes of one shape have as many. */
function featuresOf(node: Node, tolerance: Tolerance): Feature[] {
  let [min, max, slack] = [Infinity, -Infinity, 0];
  const placed: Feature[] = [];
  const visit = (at: Node, fixed: boolean): void => {
    if (at.number) {
      const feature = featureOf(at.number, tolerance);
      min = Math.min(min, feature.at);
      max = Math.max(max, feature.at);
      slack = Math.max(slack, feature.slack);
      if (fixed && placed.length < ROW_LEAVES) placed.push(feature);
    }
    for (const item of at.items) visit(item, fixed && at.type === 'row');
  };
  visit(node, true);
  return [{ at: min, slack }, { at: max, slack }, ...placed];
}

function featureOf(number: NumberView, tolerance: Tolerance): Feature {
  const real = number.type === 'complex' ? number.parts[0] : realOf(number)!;
  const at = Number.isNaN(real) ? Infinity : real; // a place in the order; whether they are equal is not decided here
  if (!isLoose(number) || !Number.isFinite(at)) return { at, slack: 0 };
  const [from, to] = interval(at, tolerance);
  return { at, slack: (to - from) * (1 + 1e-9) };
}

/**
 * Pairs [answer, expected] of places that include every pair that can be equal, by the feature that leaves fewest.
 * Undefined where that is more than `limit`.
 */
export function pairsInWindow(
  answers: readonly Node[],
  expected: readonly Node[],
  tolerance: Tolerance,
  limit: number,
): [number, number][] | undefined {
  const got = answers.map((node) => featuresOf(node, tolerance));
  const wanted = expected.map((node) => featuresOf(node, tolerance));
  let best: { total: number; order: number[]; ranges: [number, number][] } | undefined;
  for (let f = 0; f < wanted[0]!.length; f++) {
    const order = got.map((_, i) => i).sort((i, j) => compare(got[i]![f]!.at, got[j]![f]!.at));
    const sorted = order.map((i) => got[i]![f]!.at);
    const ranges = wanted.map((features): [number, number] => {
      const { at, slack } = features[f]!;
      return [lowerBound(sorted, (x) => x < at - slack), lowerBound(sorted, (x) => x <= at + slack)];
    });
    const total = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
    if (best === undefined || total < best.total) best = { total, order, ranges };
  }
  if (best!.total > limit) return undefined;
  const { order, ranges } = best!;
  return ranges.flatMap(([from, to], j) => order.slice(from, to).map((i): [number, number] => [i, j]));
}

/** Infinities are equal to themselves, where subtraction would give nan. */
export const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

/** The first place where `before` no longer holds. */
export function lowerBound(sorted: readonly number[], before: (x: number) => boolean): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (before(sorted[middle]!)) from = middle + 1;
    else to = middle;
  }
  return from;
}
