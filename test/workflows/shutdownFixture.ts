// A run whose worker is stopped during a policy update.
import { RUN } from './disturbances.js';
import { runFixture } from './fixture.js';

/** A run whose steps train one row at a time. */
export const SMALL_MINIBATCHES = { ...RUN, ppo: { ...RUN.ppo, minibatch: 1 } };
export const HELD = 11; // the third minibatch of the second step; the first one trains eight rows

/** The run, and the names of its saved progress. A test may set GAUNTLET_GRACE_SECONDS. */
export function shutdownFixture() {
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
  return { f, saved };
}
