// Scores that compare policies.

/** Selects checkpoint_best: 0.7 · (pass rate − 0.5) + 0.3 · test validity, on the validation split. */
export function checkpointScore(generatorReward: number, testValidity: number | undefined): number {
  return 0.7 * generatorReward + 0.3 * (testValidity ?? 0);
}

/**
 * Unbiased estimate of the probability that one of k samples passes, from c passes among n: 1 − C(n−c, k) / C(n, k)
 * (Chen et al. 2021, "Evaluating large language models trained on code"), as a product that does not overflow.
 * @throws RangeError unless 0 ≤ c ≤ n and 1 ≤ k ≤ n
 */
export function passAtK(n: number, c: number, k: number): number {
  if (!(Number.isInteger(n) && Number.isInteger(c) && Number.isInteger(k) && c >= 0 && c <= n && k >= 1 && k <= n)) {
    throw new RangeError(`pass@k needs 0 <= c <= n and 1 <= k <= n, not n=${n} c=${c} k=${k}`);
  }
  if (n - c < k) return 1;
  let failing = 1;
  for (let i = n - c + 1; i <= n; i++) failing *= 1 - k / i;
  return 1 - failing;
}
