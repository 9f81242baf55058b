import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { verifyStore } from '../../store/verify.js';
import { corruptAtRandom, FILE_CLASSES } from '../support/corruptions.js';
import { memoryDoubles, TINIEST_RUN } from '../support/doubles.js';
import { openMemoryStore } from '../support/memoryStore.js';
import { runPipeline } from '../support/runs.js';

describe('verifyStore', () => {
  let store: ObjectStore;
  before(async () => {
    store = openMemoryStore();
    const { deps } = await memoryDoubles({ store, renderReport: async () => '<html></html>' });
    await runPipeline(createActivities(deps), 'run', TINIEST_RUN);
  });

  it('finds nothing in an intact store', async () => {
    const verified = await verifyStore(store);
    assert.deepEqual([verified.findings, verified.notes], [[], []]);
    assert.ok(verified.checked.blobs > 40 && verified.checked.memos > 40, JSON.stringify(verified.checked));
  });

  it('names each of 150 random corruptions in files of every kind', async () => {
    const { undetected, byKind } = await corruptAtRandom(store, 150, 1);
    assert.deepEqual(undetected, []);
    assert.deepEqual(Object.keys(byKind).sort(), FILE_CLASSES.map(({ name }) => name).sort());
    for (const [kind, { trials }] of Object.entries(byKind)) assert.ok(trials > 0, kind);
  });
});
