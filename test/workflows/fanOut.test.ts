import assert from 'node:assert/strict';
import { FAN_OUT } from '../../core/queues.js';
import { FanOut } from '../../workflows/fanOut.js';

describe('the fan-out of a workflow', () => {
  it('is at most the cap, in the order of asking, and a failure frees its place', async () => {
    const fanOut = new FanOut();
    let pending = 0;
    let most = 0;
    const began: number[] = [];
    const work = (i: number) =>
      fanOut.take(async () => {
        began.push(i);
        most = Math.max(most, ++pending);
        await new Promise((resolve) => setImmediate(resolve));
        pending--;
        if (i % 7 === 0) throw new Error(`${i}`);
        return i;
      });
    const count = 10 * FAN_OUT;
    const settled = await Promise.allSettled(Array.from({ length: count }, (_, i) => work(i)));
    assert.equal(most, FAN_OUT);
    assert.deepEqual(
      began,
      settled.map((_, i) => i),
    );
    assert.ok(settled.every(({ status }, i) => status === (i % 7 === 0 ? 'rejected' : 'fulfilled')));
    assert.equal(await work(1), 1);
    assert.ok(FAN_OUT <= 64, 'far below the 2,000 that block a workflow');
  });
});
