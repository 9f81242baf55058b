import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { createActivities } from '../../activities/index.js';
import { openStore } from '../../store/openStore.js';
import { verifyStore } from '../../store/verify.js';
import { corruptAtRandom, FILE_CLASSES } from '../support/corruptions.js';
import { type Doubles, doubles, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

describe('verifyStore', function () {
  this.timeout(120_000);
  let world: Doubles;
  before(async () => {
    world = await doubles({ renderReport: async () => '<html></html>' });
    await runPipeline(createActivities(world.deps), 'run', TINIEST_RUN);
  });
  after(() => rm(world.folder, { recursive: true, force: true }));

  it('finds nothing in an intact store', async () => {
    const verified = await verifyStore(await openStore(world.folder));
    assert.deepEqual([verified.findings, verified.notes], [[], []]);
    assert.ok(verified.checked.blobs > 40 && verified.checked.memos > 40, JSON.stringify(verified.checked));
  });

  it('names each of 150 random corruptions in files of every kind', async () => {
    const { undetected, byKind } = await corruptAtRandom(await openStore(world.folder), 150, 1);
    assert.deepEqual(undetected, []);
    assert.deepEqual(Object.keys(byKind).sort(), FILE_CLASSES.map(({ name }) => name).sort());
    for (const [kind, { trials }] of Object.entries(byKind)) assert.ok(trials > 0, kind);
  });
});
