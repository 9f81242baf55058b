import assert from 'node:assert/strict';
import { inThread } from '../../../ml/pool/inThread.js';

const run = (told: object): Promise<unknown> => inThread(new URL('./faultyThread.js', import.meta.url), told);

describe('a thread for one job', () => {
  it("returns the thread's message", async () => {
    const value = { page: 'a', steps: [1, undefined] };
    assert.deepEqual(await run({ act: 'answer', value }), value);
  });

  it("throws the thread's error with the same class", async () => {
    await assert.rejects(run({ act: 'throw' }), (error) => error instanceof RangeError && error.message === 'boom');
  });

  it('throws if the thread ends without a message, with any exit status', async () => {
    await assert.rejects(run({ act: 'exit' }), /ended without an answer \(exit status 3\)/);
    await assert.rejects(run({ act: 'end' }), /ended without an answer \(exit status 0\)/);
  });
});
