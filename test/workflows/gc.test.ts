// `gauntlet store gc` beside a live server: what runs that go on may need is never touched, however old it is.
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import { openRuns } from '../../cli/commands/gc.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import { inProcess } from '../cli/support.js';
import { runPipeline } from '../support/runs.js';
import { DAY, gcFixture, RUN } from './gcFixture.js';

describe('gauntlet store gc with a server', function () {
  this.timeout(120_000);
  const f = gcFixture();

  it('ignores open workflows of other projects', async () => {
    const { workflow } = f.host.client;
    const types = ['evaluateCheckpoint', 'otherProject', 'solveProblems'];
    for (const type of types) await workflow.start(type, { taskQueue: 'nobody', workflowId: type });
    const store = await openStore(f.world.folder);
    let open: string[] = [];
    while (open.length < 2) open = (await openRuns(store, Date.now(), f.host.client)).open.map(({ run }) => run);
    assert.deepEqual(open.sort(), ['evaluateCheckpoint', 'solveProblems']);
    for (const type of types) await workflow.getHandle(type).terminate();
    await f.noneGoesOn();
  });

  it('keeps the checkpoint of a new fork, also without a server', async () => {
    await runPipeline(createActivities(f.world.deps), 'ended', RUN);
    await f.age(60);
    const { metadata } = await loadCheckpoint(f.world.deps.store, 'ended', 'latest');
    const path = join(f.world.folder, 'runs/ended/checkpoints', metadata.name, 'metadata.json');
    const { code, err } = await inProcess('fork', `ended/${metadata.name}`, '--store', f.world.folder);
    assert.equal(code, 0, err);
    assert.ok(Date.now() - (await stat(path)).mtimeMs < DAY);
    await f.host.client.workflow.getHandle(`ended-from-${metadata.name.replace('checkpoint_', '')}`).terminate();
    await f.noneGoesOn();
  });

  it('keeps what a run needs that this server does not know, until the retention time is over', async () => {
    await runPipeline(createActivities(f.world.deps), 'elsewhere', RUN);
    await f.world.deps.store.removeRunFile('elsewhere', 'result.json');
    await f.world.deps.store.removeRunFile('elsewhere', 'digests/result.json');
    await f.age(30);
    const kept = await f.gc();
    assert.deepEqual(
      [kept.paths, kept.open.map(({ run, why }) => [run, why])],
      [[], [['elsewhere', 'has no result, and no server knows its status']]],
    );
    await f.age(120);
    assert.ok((await f.gc()).paths.length > 20);
  });
});
