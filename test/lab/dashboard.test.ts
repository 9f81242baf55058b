// The figures of the dashboard benchmark.
import assert from 'node:assert/strict';
import { kindsOf } from '../../lab/bench/dashboard/main.js';
import { quantile } from '../../lab/bench/results.js';

describe('the dashboard benchmark', () => {
  it('reports the value that 95 % of all are below', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
    assert.equal(quantile(hundred, 0.95), 96);
    assert.equal(quantile([7], 0.95), 7);
    assert.equal(quantile([3, 1, 2], 1), 3);
  });

  it('tells kinds of requests apart', () => {
    const answer = (kind: string, ms: number, bytes: number) => ({ kind, ms, bytes });
    assert.deepEqual(kindsOf([answer('run', 10, 2000), answer('step', 5, 10), answer('run', 30, 1000)]), [
      { kind: 'run', requests: 2, medianMs: 20, p95Ms: 30, kilobytes: 2 },
      { kind: 'step', requests: 1, medianMs: 5, p95Ms: 5, kilobytes: 0.01 },
    ]);
  });
});
