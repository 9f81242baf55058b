// `gauntlet store gc` beside a live server: it never touches data that open runs may need, however old the data is.
// gc.test.ts has the tests that need no worker.
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { createActivities } from '../../activities/index.js';
import { scheduledInput } from '../../cli/commands/schedule.js';
import { GauntletError } from '../../core/base/errors.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import type { RunProgress } from '../../core/schema/run.js';
import { listCheckpoints, loadCheckpoint } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import { readRun } from '../../store/runs.js';
import { verifyStore } from '../../store/verify.js';
import type { RunningWorkers } from '../../workers/start.js';
import { inProcess } from '../cli/support.js';
import { doubles } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { gcFixture, RUN } from './gcFixture.js';
import { startRun, workersOver } from './server.js';

const SHORT: RunConfigInput = { ...RUN, schedule: { ...RUN.schedule, discriminatorSteps: 0 } };

describe('gauntlet store gc beside a live server', () => {
  const f = gcFixture();
  let workers: RunningWorkers | undefined;
  afterEach(async () => {
    await workers?.shutdown();
    workers = undefined;
  });

  async function until(handle: WorkflowHandle, state: RunProgress['state']): Promise<void> {
    for (;;) {
      const progress = await handle.query<RunProgress>('progress').catch(() => undefined);
      if (progress?.state === state) return;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  async function bytesOf(runId: string): Promise<unknown[]> {
    return (await listCheckpoints(f.world.deps.store, runId)).map(({ name, files, score }) => [name, files, score]);
  }
  async function undisturbed(config: object): Promise<unknown> {
    const other = await doubles();
    await runPipeline(createActivities(other.deps), 'other', config);
    const bytes = (await listCheckpoints(other.deps.store, 'other')).map(({ name, files, score }) => [
      name,
      files,
      score,
    ]);
    return bytes;
  }

  it('removes what ended runs left, but nothing of open runs and checkpoints', async () => {
    const { client } = f.host;
    const acts = createActivities(f.world.deps);
    const nights = ['night-1', 'night-2'];
    for (const id of nights) await runPipeline(acts, id, scheduledInput('night', SHORT, false));
    await runPipeline(acts, 'ended', { ...RUN, seed: 50 });
    await f.age(60);
    workers = await workersOver(f.host.server, f.world);
    const beforeOpen = await f.files();

    // has the same configuration as an ended run, whose results it reuses
    const started = Date.now();
    const { applyUpdate } = f.world.engine;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let broken = true;
    let updates = 0;
    f.world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      updates++;
      if (broken && updates === 2) throw new GauntletError('BAD_ADAPTER', 'the disk ate it');
      if (updates === 4) await gate;
      return applyUpdate.apply(f.world.engine, given);
    };
    const waits = await startRun(client, 'waits', { ...RUN, seed: 51 });
    await until(waits, 'waiting');
    broken = false;
    const paused = await startRun(client, 'paused', { ...RUN, seed: 50 });
    for (let accepted = false; !accepted; ) {
      accepted = await paused.executeUpdate<string, []>('pause').then(
        () => true,
        () => false,
      );
    }
    await until(paused, 'paused');
    const runs = await startRun(client, 'runs', { ...RUN, seed: 52 });
    while (updates < 4) await new Promise((resolve) => setTimeout(resolve, 30));
    const byOpen = (await f.files()).filter((path) => !beforeOpen.includes(path));
    const usedAgain: string[] = [];
    for (const path of beforeOpen)
      if ((await stat(join(f.world.folder, path))).mtimeMs >= started) usedAgain.push(path);
    assert.ok(byOpen.length > 20 && usedAgain.length > 5, `${byOpen.length} ${usedAgain.length}`);
    await f.age(30, started);

    const before = await f.files();
    const foreseen = await f.gc('--dry-run');
    assert.deepEqual(await f.files(), before, 'a dry run removes nothing');
    const told = await inProcess('store', 'gc', '--store', f.world.folder, '--dry-run', '--list');
    assert.deepEqual(
      told.out.split('\n').filter((line) => /^ {2}\S+\/\S+$/.test(line)),
      foreseen.paths.map((path) => `  ${path}`),
    );
    for (const id of ['waits', 'paused', 'runs'])
      assert.match(told.out, new RegExp(`^kept: what '${id}' may need \\(is open\\)$`, 'm'));
    const swept = await f.gc();
    assert.deepEqual({ ...swept, dryRun: true }, foreseen);
    const after = await f.files();
    assert.deepEqual(
      before.filter((path) => !after.includes(path)),
      foreseen.paths,
    );
    assert.ok(swept.asked && swept.memos.files > 20 && swept.blobs.files > 5, `${swept.memos.files}`);
    for (const path of [...byOpen, ...usedAgain]) assert.ok(after.includes(path), `${path} is of a run that goes on`);

    for (const id of [...nights, 'ended'])
      for (const which of ['best', 'latest']) await loadCheckpoint(f.world.deps.store, id, which);
    assert.deepEqual((await verifyStore(await openStore(f.world.folder))).findings, []);
    const seen = updates;
    release();
    await waits.executeUpdate<string, [string]>('decide', { args: ['retry'] });
    for (const handle of [waits, runs]) await handle.result();
    assert.equal(updates - seen, 3, 'two steps of the one that waited, one more of the other: nothing is done again');
    await paused.executeUpdate<string, []>('resume');
    await paused.result();
    assert.deepEqual(await bytesOf('waits'), await undisturbed({ ...RUN, seed: 51 }));
    assert.deepEqual((await bytesOf('paused')).at(-1), (await bytesOf('ended')).at(-1));
    await runPipeline(acts, 'night-3', scheduledInput('night', SHORT, false));
    assert.match((await readRun(f.world.deps.store, 'night-3')).origin?.run ?? '', /^night-[12]$/);
  });

  it('does not affect a run that starts during a sweep, and keeps what was used within the last hour', async () => {
    await runPipeline(createActivities(f.world.deps), 'earlier', RUN);
    const expected = await undisturbed(RUN);
    assert.deepEqual((await f.gc('--older-than', '0')).paths, [], 'all of it is young');
    await f.age(30);
    workers = await workersOver(f.host.server, f.world);
    let going = true;
    let freed = 0;
    const sweeping = (async () => {
      for (; going; await new Promise((resolve) => setTimeout(resolve, 200)))
        freed += (await f.gc('--older-than', '0')).paths.length;
    })();
    await (await startRun(f.host.client, 'starts', RUN)).result();
    going = false;
    await sweeping;
    assert.deepEqual(await bytesOf('starts'), expected);
    assert.ok(freed > 0);
    assert.deepEqual((await verifyStore(await openStore(f.world.folder))).findings, []);
  });
});
