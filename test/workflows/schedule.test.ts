// Runs of a schedule on a real server.
import assert from 'node:assert/strict';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { createSchedule, pausedText, scheduledInput } from '../../cli/commands/schedule.js';
import { describeSchedule } from '../../cli/run/outage.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { readRun } from '../../store/runs.js';
import type { RunningWorkers } from '../../workers/start.js';
import { gauntlet, inProcess } from '../cli/support.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { findable, needTemporal, startServer, type TestServer, workersOver } from './server.js';

const RUN: RunConfigInput = {
  ...SMALL_RUN,
  schedule: { stages: [5], discriminatorSteps: 0, generatorSteps: 1, alternatingSteps: 0 },
};
const TIMING = {
  timeZone: 'UTC',
  jitter: '0s',
  overlap: ScheduleOverlapPolicy.SKIP,
  catchUp: '1d',
  pauseOnFailure: true,
};

describe('a schedule of runs', () => {
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers;

  before(async function () {
    needTemporal(this);
    host = findable(await startServer());
    world = await doubles();
    workers = await workersOver(host.server, world);
  });
  after(async () => {
    await workers?.shutdown();
    await host?.close();
  });

  it('says how to start a worker if none is running, and nothing about workers otherwise', async () => {
    const nightly = (id: string) => ['schedule', 'create', id, '--store', world.folder];
    const served = await gauntlet(nightly('served'), { TEMPORAL_ADDRESS: host.server.address });
    assert.match(served.out, /^schedule 'served': next run at \d{4}-\d\d-\d\d 02:00 UTC\n$/);
    assert.deepEqual([served.code, served.err], [0, '']);
    const alone = await inProcess(...nightly('alone')); // a process does not count its own workers
    assert.deepEqual(
      [alone.code, alone.err],
      [0, `no worker serves runs yet: start one with npx gauntlet up --store ${world.folder}\n`],
    );
    for (const id of ['served', 'alone']) await host.client.schedule.getHandle(id).delete();
  });

  it('starts two runs, and the second continues from the best checkpoint of the first', async () => {
    const first = await createSchedule(
      host.client,
      { ...TIMING, id: 'often', cron: '* * * * * * *' },
      scheduledInput('often', RUN, false),
    );
    assert.ok(first !== undefined && first.getTime() - Date.now() < 2000);
    const schedule = host.client.schedule.getHandle('often');
    const runs: string[] = [];
    while (runs.length < 2) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      const { recentActions } = (await describeSchedule(schedule)).info;
      for (const { action } of recentActions) {
        if (!runs.includes(action.workflow.workflowId)) runs.push(action.workflow.workflowId);
      }
    }
    await schedule.delete();
    const [one, two] = runs as [string, string];
    for (const id of [one, two]) await host.client.workflow.getHandle(id).result();
    const { store } = world.deps;
    assert.match(one, /^often-\d{4}-/);
    assert.equal((await readRun(store, one)).origin, undefined);
    const { origin, seed } = await readRun(store, two);
    assert.equal(origin?.run, one);
    assert.notEqual(seed, (await readRun(store, one)).seed);
    const adapter = async (run: string, name: string) =>
      (await loadCheckpoint(store, run, name)).metadata.files['generator/adapter_model.safetensors'];
    assert.equal(await adapter(two, 'checkpoint_stage_0_epoch_0'), await adapter(one, 'best'));
    assert.notEqual(await adapter(two, 'latest'), await adapter(one, 'latest'));
  });

  it('is shown with its cron expression, its preset, and times in its zone', async () => {
    const client = host.client;
    const shown = async (id: string) => (await inProcess('schedule', 'show', id, '--store', world.folder)).out;
    const timing = { ...TIMING, timeZone: 'Asia/Tokyo' };
    for (const [id, cron] of [
      ['plain', '30 2 * * MON-FRI'],
      ['named', '@daily'],
      ['every', '@every 1h'],
      ['noted', '0 5 * * * # before work'],
      ['bare', '0 5 * * * #'], // as the Temporal CLI makes it
    ] as const)
      await createSchedule(client, { ...timing, id, cron }, scheduledInput(id, { ...RUN, preset: 'nested' }, true));
    await createSchedule(client, { ...timing, id: 'local', cron: '0 5 * * *', timeZone: 'Local' }, RUN);
    assert.match(await shown('local'), /^next +\d{4}-\d\d-\d\dT\S+Z, /m);
    assert.match(await shown('plain'), /^cron +30 2 \* \* MON-FRI\ntimeZone +Asia\/Tokyo\n/m);
    assert.match(await shown('plain'), /^next +(\d{4}-\d\d-\d\d 02:30 Asia\/Tokyo(, )?){3}$/m);
    assert.match(await shown('plain'), /^runs +–\npreset +nested\ninput +\{"/m);
    for (const [id, cron] of [
      ['named', '@daily'],
      ['every', 'every 3600 s'],
      ['noted', 'before work'],
      ['bare', `not recorded; see: npx gauntlet temporal schedule describe --schedule-id bare --store ${world.folder}`],
    ] as const)
      assert.match(await shown(id), new RegExp(`^cron +${cron}$`, 'm'));
    const { out } = await inProcess('schedule', 'list', '--store', world.folder);
    assert.match(out, /plain.* 02:30 Asia\/Tokyo/);
    for (const id of ['plain', 'named', 'every', 'noted', 'bare', 'local'])
      await client.schedule.getHandle(id).delete();
  });

  it('shows why it is paused', () => {
    const notes = ['', 'new disk', 'paused due to workflow failure: nightly'];
    assert.deepEqual(notes.map(pausedText), ['paused', 'paused: new disk', 'paused due to workflow failure: nightly']);
  });

  it('is refused if its time is invalid or its name is taken', async () => {
    const make = (id: string, cron: string, timeZone = 'UTC') =>
      createSchedule(host.client, { ...TIMING, id, cron, timeZone }, scheduledInput(id, RUN, true));
    await assert.rejects(make('bad', 'at noon'), { code: 'BAD_INPUT', message: /^--cron or --time-zone: / });
    await assert.rejects(make('bad', '0 2 * * *', 'Mars/Olympus'), { code: 'BAD_INPUT' });
    await make('once', '0 2 * * *');
    await assert.rejects(make('once', '0 2 * * *'), { code: 'RUN_EXISTS', message: /schedule 'once' exists/ });
    await host.client.schedule.getHandle('once').delete();
  });
});
