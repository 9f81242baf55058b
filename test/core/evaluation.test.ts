import assert from 'node:assert/strict';
import fc from 'fast-check';
import { compare, estimate } from '../../core/evaluation/bootstrap.js';
import { meanShareInterval, shareInterval } from '../../core/evaluation/intervals.js';
import { METRIC_NAMES, METRICS, overlap } from '../../core/evaluation/metrics.js';
import type { ProblemResult } from '../../core/schema/evaluation.js';

const problem = (id: string, fields: Partial<ProblemResult> = {}): ProblemResult => ({
  id,
  samples: 5,
  solved: 0,
  baseline: 0,
  chosen: 0,
  programs: 1,
  written: 0,
  valid: 0,
  inputs: 0,
  mutants: 0,
  killed: 0,
  attack: 'none',
  coherence: 0,
  transitions: 0,
  ...fields,
});

/** The metrics of these problems, rounded. */
const measured = (problems: ProblemResult[]): Record<string, number> =>
  Object.fromEntries(
    METRIC_NAMES.flatMap((name) => {
      const value = METRICS[name](problems);
      return value === undefined ? [] : [[name, Number(value.toFixed(4))]];
    }),
  );

describe('the metrics of an evaluation', () => {
  it('equal values that were computed by hand', () => {
    const problems = [
      problem('a', {
        solved: 2,
        baseline: 4,
        chosen: 0.5,
        programs: 3,
        written: 6,
        valid: 3,
        inputs: 4,
        mutants: 8,
        killed: 2,
        attack: 'caught',
        coherence: 1.5,
        transitions: 3,
      }),
      problem('b', {
        solved: 5,
        baseline: 5,
        chosen: 1,
        programs: 1,
        written: 2,
        valid: 2,
        inputs: 2,
        mutants: 2,
        killed: 2,
        attack: 'missed',
        coherence: 0.5,
        transitions: 1,
      }),
    ];
    assert.deepEqual(measured(problems), {
      'pass@1': (2 / 5 + 1) / 2,
      'pass@5': 1,
      'baseline pass rate': 9 / 10,
      'best of n': 0.75,
      'best-of-n lift': 0.05, // 0.75 − 0.7
      'distinct programs': 4 / 10,
      'test validity': 5 / 8,
      'distinct tests': 6 / 8,
      'attack rate': 1 / 2,
      'mutation score': 4 / 10,
      mul: 0.25, // 5 / 8 · 4 / 10
      coherence: 2 / 4,
    });
  });

  it('use the unbiased estimate of pass@k', () => {
    // 6 samples, 2 solved: 1 − C(4, 5) / C(6, 5) = 1; 6 samples, 1 solved: 1 − C(5, 5) / C(6, 5) = 5 / 6
    const solved = (count: number) => [problem('a', { samples: 6, solved: count })];
    assert.equal(measured(solved(2))['pass@5'], 1);
    assert.equal(measured(solved(1))['pass@5'], 0.8333);
    assert.equal(measured(solved(1))['pass@1'], 0.1667);
  });

  it('are absent if the divisor is 0 or there are fewer samples than pass@5 needs', () => {
    assert.deepEqual(measured([]), {});
    const names = Object.keys(measured([problem('a', { samples: 2, solved: 1, chosen: 0.5 })]));
    assert.deepEqual(names, ['pass@1', 'baseline pass rate', 'best of n', 'best-of-n lift', 'distinct programs']);
  });

  it('lie in 0..1, and lifts in −1..1', () => {
    const count = fc.integer({ min: 0, max: 5 });
    const arbitrary = fc
      .record({
        solved: count,
        baseline: count,
        chosen: fc.double({ min: 0, max: 1, noNaN: true }),
        valid: count,
        killed: count,
      })
      .map((fields) => problem('x', { ...fields, written: 5, mutants: 5 }));
    fc.assert(
      fc.property(fc.array(arbitrary, { maxLength: 6 }), (problems) => {
        for (const [name, value] of Object.entries(measured(problems)))
          assert.ok(value >= (name === 'best-of-n lift' ? -1 : 0) && value <= 1, `${name} ${value}`);
      }),
    );
  });
});

describe('the overlap of two stages', () => {
  it('is the share of words of the later text that occur in the earlier text', () => {
    assert.equal(overlap('count the EVEN numbers', 'count numbers in nums'), 2 / 4);
    assert.equal(overlap('a b c', 'x + 1'), 0); // a word has at least two letters
    assert.equal(overlap('anything', ''), 0);
  });
});

describe('the bootstrap of an evaluation', () => {
  const many = (count: number, solved: (i: number) => number) =>
    Array.from({ length: count }, (_, i) => problem(`p${i}`, { solved: solved(i) }));
  const half = many(100, (i) => (i % 2) * 5);

  it('gives the 95 % interval of a proportion', () => {
    const eighth = estimate(
      many(8, (i) => (i < 2 ? 5 : 0)),
      METRICS['pass@1'],
    )!;
    assert.ok(eighth.low > 0.05 && eighth.high < 0.62, 'two of eight exclude zero: Wilson gives 0.071 to 0.591');
    const { value, low, high } = estimate(half, METRICS['pass@1'])!;
    // normal approximation: 0.5 ± 1.96 · √(0.25 / 100) = 0.402 to 0.598
    assert.equal(value, 0.5);
    assert.ok(Math.abs(low - 0.402) < 0.02 && Math.abs(high - 0.598) < 0.02, `${low} to ${high}`);
    assert.deepEqual(estimate(half, METRICS['pass@1']), { value, low, high });
    assert.equal(estimate(half, METRICS['test validity']), undefined);
  });

  it('finds a difference on paired problems that unpaired intervals would not show', () => {
    const better = many(100, (i) => (i % 2 === 1 || i % 10 === 0 ? 5 : 0));
    const { value, low, high, p } = compare(half, better, METRICS['pass@1'])!;
    assert.ok(Math.abs(value - 0.1) < 1e-12 && low > 0 && high < 0.2, `${value}: ${low} to ${high}`);
    assert.ok(p < 0.05, String(p));
    const reversed = compare(better, half, METRICS['pass@1'])!;
    assert.ok(Math.abs(reversed.value + 0.1) < 1e-12 && reversed.p === p);
  });

  it('reports no difference between equal results', () => {
    const { value, p } = compare(half, half, METRICS['pass@1'])!;
    assert.deepEqual([value, p], [0, 1]);
  });

  it('gives no interval of zero width, and no small p-value, where problems do not differ', () => {
    const [none, all] = [many(3, () => 0), many(3, () => 5)];
    const high = shareInterval(0, 3).high;
    const low = 1 - high;
    assert.deepEqual(estimate(none, METRICS['pass@1']), { value: 0, low: 0, high });
    assert.deepEqual(estimate(all, METRICS['pass@1']), { value: 1, ...shareInterval(1, 3) });
    assert.deepEqual(compare(none, none, METRICS['pass@1']), { value: 0, low: -high, high, p: 1 });
    assert.deepEqual(compare(none, all, METRICS['pass@1']), { value: 1, low, high: 1, p: 0.25 });
    const few = many(100, (i) => (i % 2 === 1 || i < 6 ? 5 : 0));
    assert.equal(compare(half, few, METRICS['pass@1'])!.p, 0.25, 'only three problems differ');
    assert.deepEqual(estimate(none, METRICS['best-of-n lift'], false), { value: 0, low: -high, high });
  });

  it('refuses to compare different problems', () => {
    assert.throws(() => compare(half, half.slice(1), METRICS['pass@1']), /same problems/);
    assert.throws(() => compare(half, half.toReversed(), METRICS['pass@1']), /same problems/);
  });
});

describe("Wilson's interval of a share", () => {
  // computed with statsmodels.stats.proportion.proportion_confint(…, method='wilson') and z = 1.96
  const INTERVALS = [
    [60, 60, 0.9398, 1],
    [0, 2, 0, 0.6576],
    [0, 1, 0, 0.7935],
    [2, 2, 0.3424, 1],
    [5, 10, 0.2366, 0.7634],
  ] as const;
  for (const [count, of, low, high] of INTERVALS)
    it(`is ${low} to ${high} for ${count} of ${of}`, () => {
      const interval = shareInterval(count / of, of);
      assert.deepEqual(
        [interval.low, interval.high].map((end) => Number(end.toFixed(4))),
        [low, high],
      );
      assert.deepEqual(meanShareInterval(count / of, 0, of), interval);
    });

  it('is as wide as the standard error says', () => {
    assert.deepEqual(meanShareInterval(0.5, 0.05, 4), shareInterval(0.5, 100));
    assert.equal(meanShareInterval(1, 0), undefined);
  });
});
