// A whole run of exact doubles on a store that fails on some writes, before or after they take effect. Calling an activity
// again, as Temporal does, must be enough to recover.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { failing, type Notice } from '../../lab/chaos/instrument.js';
import { damageOf, differences, outcomeOf } from '../../lab/chaos/outcome.js';
import type { Activities } from '../../method/activities.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

/** One step of every kind, with few samples. */
const RUN = {
  ...SMALL_RUN,
  batch: { generator: { problems: 2, samples: 2 }, discriminator: { problems: 2, samples: 2 } },
  evaluation: { problems: 2, testProblems: 2 },
};

/** Calls each activity again until the store does not fail. */
function retried(activities: Activities): Activities {
  const again =
    (call: (...given: unknown[]) => Promise<unknown>) =>
    async (...given: unknown[]): Promise<unknown> => {
      for (;;) {
        try {
          return await call(...given);
        } catch (error) {
          if ((error as { type?: string }).type !== 'STORE_FAULT') throw error;
        }
      }
    };
  return Object.fromEntries(
    Object.entries(activities).map(([name, call]) => [name, again(call as never)]),
  ) as unknown as Activities;
}

describe('a run on a store that fails on one of ten writes', () => {
  let calm: Doubles;
  before(async () => {
    calm = await doubles();
    await runPipeline(createActivities(calm.deps), 'run', RUN);
  });

  for (const seed of ['b', 'c']) {
    it(`ends with the same digests and metrics and a complete store (seed ${seed})`, async () => {
      const broken = await doubles();
      const heard: Notice[] = [];
      const store = failing(broken.deps.store, { share: 0.1, seed }, (notice) => heard.push(notice));
      await runPipeline(retried(createActivities({ ...broken.deps, store })), 'run', RUN);
      assert.ok(heard.length > 50, `${heard.length} faults`);
      const expected = await outcomeOf(calm.folder, 'run');
      assert.deepEqual(differences(expected, await outcomeOf(broken.folder, 'run')), []);
      assert.deepEqual(await damageOf(broken.folder), []);
    });
  }
});
