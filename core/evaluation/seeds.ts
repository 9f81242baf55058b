// Means over runs with different seeds, with intervals, and paired differences. Uses Student's t, because seeds are few.

export interface Mean {
  value: number;
  half: number; // the width of the 95 % interval on each side; NaN for one seed
  count: number;
}

export function meanOf(values: readonly number[]): Mean {
  const count = values.length;
  const value = values.reduce((sum, x) => sum + x, 0) / count;
  return { value, half: count > 1 ? quantile(count - 1) * standardError(values, value) : Number.NaN, count };
}

/** The mean of `b` minus `a` over the seeds. `p` is two-sided; NaN for one seed. Equal differences get that of a sign test. */
export function pairedDifference(a: readonly number[], b: readonly number[]): Mean & { p: number } {
  const differences = b.map((x, i) => x - a[i]!);
  const mean = meanOf(differences);
  const error = standardError(differences, mean.value);
  const equal = mean.value === 0 ? 1 : 2 ** (1 - mean.count);
  const p = error === 0 ? equal : 1 - within(Math.abs(mean.value / error), mean.count - 1);
  return { ...mean, p: mean.count > 1 ? p : Number.NaN };
}

const standardError = (values: readonly number[], mean: number): number =>
  Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (values.length - 1) / values.length);

/** The chance that Student's t lies between −t and t, as the finite sum for whole degrees of freedom. */
function within(t: number, freedom: number): number {
  const angle = Math.atan(t / Math.sqrt(freedom));
  const odd = freedom % 2;
  let term = odd ? Math.cos(angle) : 1;
  let sum = 0;
  for (let i = 2 + odd; i <= freedom; i += 2) {
    sum += term;
    term *= ((i - 1) / i) * Math.cos(angle) ** 2;
  }
  return odd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
}

/** The t that 95 % of the distribution lie within. It is at most 12.8, that of one degree of freedom. */
function quantile(freedom: number): number {
  let [low, high] = [0, 16];
  for (let halvings = 0; halvings < 60; halvings++) {
    const middle = (low + high) / 2;
    if (within(middle, freedom) < 0.95) low = middle;
    else high = middle;
  }
  return high;
}
