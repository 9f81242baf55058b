// A worker that is stopped during a policy update.
import assert from 'node:assert/strict';
import { undisturbed } from './disturbances.js';
import { HELD, SMALL_MINIBATCHES, shutdownFixture } from './shutdownFixture.js';

describe('a worker that is stopped during a policy update', () => {
  const { f, saved } = shutdownFixture();

  it('saves its progress at once, and the next worker continues from there', async () => {
    process.env.GAUNTLET_GRACE_SECONDS = '0.1';
    await f.serve();
    const { reached, calls } = f.holdGradients(HELD);
    await f.start(SMALL_MINIBATCHES);
    await reached;
    assert.deepEqual(await saved(), [], 'it was too early for a save at an interval');
    await f.stopWorkers();
    assert.deepEqual(await saved(), ['state-2']);
    await f.serve();
    const bytes = await f.completed();
    assert.deepEqual(bytes, (await undisturbed(SMALL_MINIBATCHES)).bytes);
    const records = await f.steps();
    const minibatches = records.reduce((sum, { rows }) => sum + rows, 0);
    assert.equal(calls.length, minibatches + 1, 'only the held minibatch is computed again');
    assert.deepEqual(await saved(), []);
  });
});
