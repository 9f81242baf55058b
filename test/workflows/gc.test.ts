// `gauntlet store gc` beside a live server: it never touches data that open runs may need, however old the data is.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { openRuns } from '../../cli/commands/gc.js';
import { openStore } from '../../store/openStore.js';
import { runPipeline } from '../support/runs.js';
import { gcFixture, RUN } from './gcFixture.js';

describe('gauntlet store gc with a server', () => {
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

  it('keeps the data of a run that the server does not know, until the retention time is over', async () => {
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
