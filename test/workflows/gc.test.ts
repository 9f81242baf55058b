// `gauntlet store gc` beside a live server: what runs that go on may need is never touched, however old it is.
import assert from 'node:assert/strict';
import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Client, type WorkflowHandle } from '@temporalio/client';
import { createActivities } from '../../activities/index.js';
import { openRuns } from '../../cli/commands/gc.js';
import { scheduledInput } from '../../cli/commands/schedule.js';
import { GauntletError } from '../../core/errors.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import type { RunProgress } from '../../core/schema/run.js';
import { dataConverter } from '../../infra/payloadCodec.js';
import { listCheckpoints, loadCheckpoint } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import { readRun } from '../../store/runs.js';
import type { Swept } from '../../store/sweep.js';
import { verifyStore } from '../../store/verify.js';
import type { RunningWorkers } from '../../workers/start.js';
import { inProcess } from '../cli/support.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { findable, needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

const DAY = 86_400_000;
/** One engine update a step, and little else. */
const RUN: RunConfigInput = {
  ...SMALL_RUN,
  stages: [5],
  ppo: { ...SMALL_RUN.ppo, epochs: 1, minibatch: 1000 },
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 2, alternatingSteps: 0 },
  batch: { generator: { problems: 3, samples: 2 }, discriminator: { problems: 2, samples: 2 } },
  evaluation: { problems: 2, testProblems: 2 },
};
const SHORT: RunConfigInput = { ...RUN, schedule: { ...RUN.schedule, discriminatorSteps: 0 } };

type Told = Swept & { open: { run: string; why: string }[]; asked: boolean; dryRun: boolean };

describe('gauntlet store gc with a server', function () {
  this.timeout(120_000);
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers | undefined;

  before(async function () {
    needTemporal(this);
    host = findable(await startServer());
  });
  after(() => host?.close());
  beforeEach(async () => {
    world = await doubles();
  });
  afterEach(async () => {
    await workers?.shutdown();
    workers = undefined;
    await rm(world.folder, { recursive: true, force: true });
  });

  async function files(): Promise<string[]> {
    const entries = await readdir(world.folder, { recursive: true, withFileTypes: true });
    const found = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return found.map((path) => relative(world.folder, path)).sort();
  }
  /** Everything that was used since `from` was used `days` days ago. */
  async function age(days: number, from = 0): Promise<void> {
    const then = new Date(Date.now() - days * DAY);
    for (const path of await files()) {
      const { mtimeMs } = await stat(join(world.folder, path));
      if (mtimeMs >= from) await utimes(join(world.folder, path), then, then);
    }
  }
  async function gc(...flags: string[]): Promise<Told> {
    const { code, out, err } = await inProcess('store', 'gc', '--store', world.folder, '--json', ...flags);
    assert.equal(code, 0, err);
    return JSON.parse(out) as Told;
  }
  async function until(handle: WorkflowHandle, state: RunProgress['state']): Promise<void> {
    for (;;) {
      const progress = await handle.query<RunProgress>('progress').catch(() => undefined);
      if (progress?.state === state) return;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  /** What the server lists follows what it has. */
  async function noneGoesOn(): Promise<void> {
    const going = async (): Promise<boolean> => {
      for await (const _ of host.client.workflow.list({ query: `ExecutionStatus = 'Running'` })) return true;
      return false;
    };
    while (await going()) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  async function bytesOf(runId: string): Promise<unknown[]> {
    return (await listCheckpoints(world.deps.store, runId)).map(({ name, files, score }) => [name, files, score]);
  }
  async function undisturbed(config: object): Promise<unknown> {
    const other = await doubles();
    await runPipeline(createActivities(other.deps), 'other', config);
    const bytes = (await listCheckpoints(other.deps.store, 'other')).map(({ name, files, score }) => [
      name,
      files,
      score,
    ]);
    await rm(other.folder, { recursive: true, force: true });
    return bytes;
  }

  it('removes what ended runs left, and nothing of open runs, schedules and checkpoints', async () => {
    const { client } = host;
    const acts = createActivities(world.deps);
    const nights = ['night-1', 'night-2'];
    for (const id of nights) await runPipeline(acts, id, scheduledInput('night', SHORT, false));
    await runPipeline(acts, 'ended', { ...RUN, seed: 50 });
    await age(60);
    workers = await workersOver(host.server, world);
    const beforeOpen = await files();

    // the same configuration as an ended run: it builds on what that one left
    const started = Date.now();
    const { applyUpdate } = world.engine;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let broken = true;
    let updates = 0;
    world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      updates++;
      if (broken && updates === 2) throw new GauntletError('BAD_ADAPTER', 'the disk ate it');
      if (updates === 4) await gate;
      return applyUpdate.apply(world.engine, given);
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
    const byOpen = (await files()).filter((path) => !beforeOpen.includes(path));
    const usedAgain: string[] = [];
    for (const path of beforeOpen) if ((await stat(join(world.folder, path))).mtimeMs >= started) usedAgain.push(path);
    assert.ok(byOpen.length > 20 && usedAgain.length > 5, `${byOpen.length} ${usedAgain.length}`);
    await age(30, started);

    const before = await files();
    const foreseen = await gc('--dry-run', '--keep', '100');
    assert.deepEqual(await files(), before, 'a dry run removes nothing');
    const told = await inProcess('store', 'gc', '--store', world.folder, '--dry-run', '--list', '--keep', '100');
    assert.deepEqual(
      told.out.split('\n').filter((line) => /^ {2}\S+\/\S+$/.test(line)),
      foreseen.paths.map((path) => `  ${path}`),
    );
    for (const id of ['waits', 'paused', 'runs'])
      assert.match(told.out, new RegExp(`^kept: what '${id}' may need \\(is open\\)$`, 'm'));
    const swept = await gc('--keep', '100');
    assert.deepEqual({ ...swept, dryRun: true }, foreseen);
    const after = await files();
    assert.deepEqual(
      before.filter((path) => !after.includes(path)),
      foreseen.paths,
    );
    assert.ok(swept.asked && swept.memos.files > 20 && swept.blobs.files > 5, `${swept.memos.files}`);
    for (const path of [...byOpen, ...usedAgain]) assert.ok(after.includes(path), `${path} is of a run that goes on`);

    for (const id of [...nights, 'ended'])
      for (const which of ['best', 'latest']) await loadCheckpoint(world.deps.store, id, which);
    assert.deepEqual((await verifyStore(await openStore(world.folder))).findings, []);
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
    assert.match((await readRun(world.deps.store, 'night-3')).origin?.run ?? '', /^night-[12]$/);
  });

  it('does not harm a run that starts during a sweep, and keeps what was used within the last hour', async () => {
    await runPipeline(createActivities(world.deps), 'earlier', RUN);
    const expected = await undisturbed(RUN);
    assert.deepEqual((await gc('--older-than', '0')).paths, [], 'all of it is young');
    await age(30);
    workers = await workersOver(host.server, world);
    let going = true;
    let freed = 0;
    const sweeping = (async () => {
      for (; going; await new Promise((resolve) => setTimeout(resolve, 200)))
        freed += (await gc('--older-than', '0')).paths.length;
    })();
    await (await startRun(host.client, 'starts', RUN)).result();
    going = false;
    await sweeping;
    assert.deepEqual(await bytesOf('starts'), expected);
    assert.ok(freed > 0);
    assert.deepEqual((await verifyStore(await openStore(world.folder))).findings, []);
  });

  it('keeps the checkpoints that schedules and unprepared forks start from', async () => {
    const { client } = host;
    const { store } = world.deps;
    const many = { ...RUN, schedule: { ...RUN.schedule, alternatingSteps: 4 } };
    await runPipeline(createActivities(world.deps), 'ended', many);
    await age(60);
    const thinned = async () => (await gc('--dry-run', '--keep', '100')).checkpoints.names;
    const before = (await thinned()).map((name) => name.slice('ended/'.length));
    assert.ok(before.length >= 3, `${before}`);
    const [first, second, third] = before as [string, string, string];
    const start = (checkpoint: string) => ({ ...many, start: { run: 'ended', checkpoint, schedule: 'rest' } });
    const fork = await startRun(client, 'fork', start(first));
    const schedule = await client.schedule.create({
      scheduleId: 'by-hand',
      spec: {},
      action: {
        type: 'startWorkflow',
        workflowType: 'trainFullPipeline',
        taskQueue: 'gauntlet',
        workflowId: 'by-hand',
        args: [start(second)],
      },
      state: { paused: true },
    });
    for (let names = before; names.includes(first); )
      names = (await thinned()).map((name) => name.slice('ended/'.length));
    const swept = await gc('--keep', '100');
    assert.deepEqual(
      swept.checkpoints.names,
      before.slice(2).map((name) => `ended/${name}`),
    );
    for (const name of [first, second]) await loadCheckpoint(store, 'ended', name);
    await assert.rejects(loadCheckpoint(store, 'ended', third), { code: 'NOT_FOUND' });
    await schedule.delete();
    workers = await workersOver(host.server, world);
    await fork.result();
    await noneGoesOn();
    assert.equal((await readRun(store, 'fork')).origin?.checkpoint, first);
  });

  it('ignores open workflows of other projects', async () => {
    const { workflow } = host.client;
    const types = ['evaluateCheckpoint', 'otherProject', 'solveProblems'];
    for (const type of types) await workflow.start(type, { taskQueue: 'nobody', workflowId: type });
    const store = await openStore(world.folder);
    let open: string[] = [];
    while (open.length < 2) open = (await openRuns(store, Date.now(), host.client)).open.map(({ run }) => run);
    assert.deepEqual(open.sort(), ['evaluateCheckpoint', 'solveProblems']);
    for (const type of types) await workflow.getHandle(type).terminate();
    await noneGoesOn();
  });

  it('keeps the checkpoint of a new fork, also without a server', async () => {
    await runPipeline(createActivities(world.deps), 'ended', RUN);
    await age(60);
    const { metadata } = await loadCheckpoint(world.deps.store, 'ended', 'latest');
    const path = join(world.folder, 'runs/ended/checkpoints', metadata.name, 'metadata.json');
    const { code, err } = await inProcess('fork', `ended/${metadata.name}`, '--store', world.folder);
    assert.equal(code, 0, err);
    assert.ok(Date.now() - (await stat(path)).mtimeMs < DAY);
    await host.client.workflow.getHandle(`ended-from-${metadata.name.replace('checkpoint_', '')}`).terminate();
    await noneGoesOn();
  });

  it('removes no checkpoint if it cannot read where a run starts', async () => {
    await runPipeline(createActivities(world.deps), 'ended', RUN);
    await age(60);
    const keys = join(world.folder, 'keys');
    await writeFile(keys, `${'ab'.repeat(32)}\n`);
    const { connection, options } = host.client;
    const sealing = new Client({
      connection,
      namespace: options.namespace,
      dataConverter: dataConverter({ GAUNTLET_CODEC_KEYS: keys }),
    });
    const sealed = await startRun(sealing, 'sealed', RUN);
    const kept = await files();
    for (let refused = false; !refused; ) {
      const { code, err } = await inProcess('store', 'gc', '--store', world.folder, '--keep', '100', '--dry-run');
      refused = code !== 0;
      if (refused) assert.match(err, /^error: the start of run 'sealed' cannot be read: .*GAUNTLET_CODEC_KEYS/m);
    }
    assert.deepEqual(await files(), kept);
    await sealed.terminate();
    await noneGoesOn();
  });

  it('keeps what a run needs that this server does not know, until the retention time is over', async () => {
    await runPipeline(createActivities(world.deps), 'elsewhere', RUN);
    await world.deps.store.removeRunFile('elsewhere', 'result.json');
    await world.deps.store.removeRunFile('elsewhere', 'digests/result.json');
    await age(30);
    const kept = await gc();
    assert.deepEqual(
      [kept.paths, kept.open.map(({ run, why }) => [run, why])],
      [[], [['elsewhere', 'has no result, and no server knows its status']]],
    );
    await age(120);
    assert.ok((await gc()).paths.length > 20);
  });
});
