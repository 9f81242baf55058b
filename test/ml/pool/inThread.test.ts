import assert from 'node:assert/strict';
import { inThread } from '../../../ml/pool/inThread.js';

const run = (told: object): Promise<unknown> => inThread(new URL('./faultyThread.js', import.meta.url), told);

describe('a thread for one job', () => {
  it('its message is the answer', async () => {
    assert.deepEqual(await run({ act: 'answer', value: { page: 'a', steps: [1, undefined] } }), {
      page: 'a',
      steps: [1, undefined],
    });
  });

  it('what it throws is thrown here, of the same kind', async () => {
    await assert.rejects(run({ act: 'throw' }), (error) => error instanceof RangeError && error.message === 'boom');
  });

  it('one that ends without an answer is an error, whatever its status', async () => {
    await assert.rejects(run({ act: 'exit' }), /ended without an answer \(exit status 3\)/);
    await assert.rejects(run({ act: 'end' }), /ended without an answer \(exit status 0\)/);
  });
});
