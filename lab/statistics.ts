// Computes means over seeds with intervals, and paired differences between arms. Uses Student's t, because seeds are few.
import jstat from 'jstat';

export interface Mean {
  value: number;
  half: number; // the width of the 95 % interval on each side; NaN for one seed
  count: number;
}

export function meanOf(values: readonly number[]): Mean {
  const count = values.length;
  const value = values.reduce((sum, x) => sum + x, 0) / count;
  return {
    value,
    half: count > 1 ? jstat.studentt.inv(0.975, count - 1) * standardError(values, value) : Number.NaN,
    count,
  };
}

/** The mean of `b` minus `a` over the seeds. `p` is two-sided; NaN for one seed. */
export function pairedDifference(a: readonly number[], b: readonly number[]): Mean & { p: number } {
  const differences = b.map((x, i) => x - a[i]!);
  const mean = meanOf(differences);
  const error = standardError(differences, mean.value);
  const p =
    error === 0 ? Number(mean.value === 0) : 2 * jstat.studentt.cdf(-Math.abs(mean.value / error), mean.count - 1);
  return { ...mean, p: mean.count > 1 ? p : Number.NaN };
}

const standardError = (values: readonly number[], mean: number): number =>
  Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (values.length - 1) / values.length);
