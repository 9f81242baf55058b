// Means over seeds and paired differences. The quantiles and p-values are those of published tables of Student's t.
import assert from 'node:assert/strict';
import { meanOf, pairedDifference } from '../../core/evaluation/seeds.js';

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-4 * Math.abs(expected), `${actual} is not ${expected}`);

describe('statistics over seeds', () => {
  const QUANTILES = [
    [2, 12.7062],
    [3, 4.30265],
    [4, 3.18245],
    [5, 2.77645],
    [6, 2.57058],
    [11, 2.22814],
    [31, 2.04227],
    [121, 1.97993],
  ] as const;
  for (const [count, t] of QUANTILES)
    it(`have the interval of Student's t for ${count} runs`, () => {
      const values = Array.from({ length: count }, (_, i) => i);
      const mean = meanOf(values);
      assert.deepEqual([mean.value, mean.count], [(count - 1) / 2, count]);
      near(mean.half, t * Math.sqrt((count + 1) / 12)); // the variance of 0 … n − 1 is n (n + 1) / 12
    });

  it('pair by seed, with a two-sided p-value', () => {
    const { value, p } = pairedDifference([1, 2, 3], [2, 4, 6]);
    assert.equal(value, 2);
    near(p, 0.0741799); // t = 2 / √(1 / 3) = 3.4641, 2 degrees of freedom
    near(pairedDifference([0, 0], [1, 3]).p, 0.2951672); // t = 2, 1 degree of freedom: 1 − 2 atan(2) / π
    assert.equal(pairedDifference([1, 2], [1, 2]).p, 1);
    assert.equal(pairedDifference([1, 2, 3], [2, 3, 4]).p, 0.25, 'three equal differences are no proof');
    assert.ok(Number.isNaN(meanOf([1]).half) && Number.isNaN(pairedDifference([1], [2]).p), 'one run has no interval');
  });
});
