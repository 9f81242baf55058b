// What the requests of viewers read from the store. Several viewers may poll while a run trains on the same machine.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { openResources, type Resources } from '../../dashboard/data/resources.js';
import { FileObjects } from '../../store/fileObjects.js';
import { ObjectStore } from '../../store/objectStore.js';
import type { Use } from '../../store/objects.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

/** Records which objects are read and which are marked as used. */
class CountingObjects extends FileObjects {
  readonly reads: string[] = [];
  readonly touches: string[] = [];

  override read(key: string, length?: number): Promise<Uint8Array | undefined> {
    this.reads.push(key);
    return super.read(key, length);
  }

  override touch(key: string): Promise<Use | undefined> {
    this.touches.push(key);
    return super.touch(key);
  }
}

describe('the load of the dashboard', () => {
  let world: Doubles;
  let objects: CountingObjects;
  let resources: Resources;

  before(async () => {
    world = await doubles();
    const activities = createActivities(world.deps);
    for (const run of ['one', 'two'])
      await runPipeline(activities, run, { ...SMALL_RUN, seed: run.length + run.charCodeAt(0) });
  });
  beforeEach(() => {
    objects = new CountingObjects(world.folder);
    resources = openResources(new ObjectStore(objects));
  });

  /** Repeats an earlier request. */
  async function again(path: string): Promise<string[]> {
    const first = await resources.read(path);
    assert.ok(objects.reads.length > 0);
    objects.reads.length = 0;
    assert.deepEqual(await resources.read(path), first);
    return objects.reads;
  }

  it('reads no file for a list of runs that did not change', async () => {
    assert.deepEqual(await again('runs'), []);
  });

  it('reads no artifact twice for the problems and the stages of a run', async () => {
    for (const path of ['runs/one/problems', 'runs/one/stages'])
      assert.deepEqual(
        (await again(path)).filter((key) => !key.startsWith('runs/one/')),
        [],
      );
  });

  it('reads no metrics twice for a comparison', async () => {
    assert.deepEqual(
      (await again('diff/one/two')).filter((key) => key.includes('/metrics/')),
      [],
    );
  });

  it('finds the tokens of a step without marking other results as used', async () => {
    const rows = await objects.names('memo');
    const view = (await resources.read('runs/two/steps/2/groups/0/tokens')) as { hasLogprobs: boolean };
    assert.ok(view.hasLogprobs);
    const touched = objects.touches.filter((key) => key.startsWith('memo/'));
    assert.ok(touched.length > 0 && touched.length <= 2 && rows.length > 64, `${touched.length} of ${rows.length}`);
    assert.ok(!touched.some((key) => key.endsWith('.inputs')));
  });

  it('reads memo rows that were written near the time of the step first', async () => {
    await resources.read('runs/two/steps/6/groups/0/tokens');
    const read = new Set(objects.reads.filter((key) => key.startsWith('memo/') && key.endsWith('.inputs')));
    const all = (await objects.names('memo')).filter((key) => key.endsWith('.inputs'));
    assert.ok(read.size < all.length, `${read.size} of ${all.length} rows`);
  });
});
