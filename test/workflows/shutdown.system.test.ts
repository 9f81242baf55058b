// A worker that is stopped in the middle of a policy update waits for it, for longer than by default.
import assert from 'node:assert/strict';
import { RUN, undisturbed } from './disturbances.js';
import { runFixture } from './fixture.js';

/** Its second step trains six rows, one at a time. */
const SMALL_MINIBATCHES = { ...RUN, ppo: { ...RUN.ppo, minibatch: 1 } };
const HELD = 7; // the third minibatch of the second step; the first one trains four rows

describe('a worker that is stopped during a policy update', function () {
  this.timeout(120_000);
  const f = runFixture('stopped');
  let before: string | undefined;
  beforeEach(() => {
    before = process.env.GAUNTLET_GRACE_SECONDS;
  });
  afterEach(() => {
    if (before === undefined) delete process.env.GAUNTLET_GRACE_SECONDS;
    else process.env.GAUNTLET_GRACE_SECONDS = before;
  });

  const saved = async (): Promise<string[]> => {
    const paths = await f.world.deps.store.listRunFiles(f.id, 'updates');
    return paths.map((path) => path.split('.')[1]!);
  };

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
