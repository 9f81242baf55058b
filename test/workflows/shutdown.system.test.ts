// A worker that is stopped during a policy update waits for the update, longer than by default.
import assert from 'node:assert/strict';
import { undisturbed } from './disturbances.js';
import { HELD, SMALL_MINIBATCHES, shutdownFixture } from './shutdownFixture.js';

describe('a worker that is stopped during a policy update', () => {
  const { f, saved } = shutdownFixture();

  it('is not cancelled within GAUNTLET_GRACE_SECONDS', async () => {
    process.env.GAUNTLET_GRACE_SECONDS = '60';
    await f.serve();
    const { reached, release, calls } = f.holdGradients(HELD);
    await f.start(SMALL_MINIBATCHES);
    await reached;
    const stopped = f.stopWorkers();
    while ((await saved()).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await new Promise((resolve) => setTimeout(resolve, 3500)); // longer than the default
    release();
    await stopped;
    process.env.GAUNTLET_GRACE_SECONDS = '0.1';
    await f.serve();
    assert.deepEqual(await f.completed(), (await undisturbed(SMALL_MINIBATCHES)).bytes);
    const minibatches = (await f.steps()).reduce((sum, { rows }) => sum + rows, 0);
    assert.equal(calls.length, minibatches, 'no minibatch is computed twice');
  });
});
