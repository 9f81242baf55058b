// Runs the `temporal schedule` commands of docs/how-to/schedule.md in a shell, one after the other.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { createSchedule, scheduledInput } from '../../cli/commands/schedule.js';
import { describeSchedule } from '../../cli/run/outage.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { ROOT } from '../../infra/root.mjs';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { readRun } from '../../store/runs.js';
import type { RunningWorkers } from '../../workers/start.js';
import { temporaryFolder } from '../infra/support.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { needTemporal, startServer, type TestServer, workersOver } from './server.js';

/** Replaces the documented preset, so that a run has one step. */
const RUN: RunConfigInput = {
  ...SMALL_RUN,
  stages: [5],
  schedule: { stages: [5], discriminatorSteps: 0, generatorSteps: 1, alternatingSteps: 0 },
  evaluation: { problems: 2, testProblems: 2 },
};

/** The commands of the block that begins with `temporal schedule create`, a line each as a shell sees them. */
async function documented(): Promise<Map<string, string>> {
  const page = await readFile(join(ROOT, 'docs', 'how-to', 'schedule.md'), 'utf8');
  const blocks = [...page.matchAll(/```bash\n([\s\S]*?)```/g)].map(([, block]) => block!);
  const block = blocks.find((text) => text.startsWith('temporal schedule create'));
  assert.ok(block, 'docs/how-to/schedule.md creates a schedule by hand');
  const commands = block.split(/\n(?=temporal )/).map((command) => command.trim());
  return new Map(commands.map((command) => [/^temporal schedule (\w+( .*--(un)?pause)?)/.exec(command)![1]!, command]));
}

describe('a schedule created with the Temporal CLI', () => {
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers;
  let bin: string;

  before(async function () {
    needTemporal(this);
    host = await startServer();
    world = await doubles();
    workers = await workersOver(host.server, world);
    bin = temporaryFolder();
    await symlink(findTemporalCli()!, join(bin, 'temporal'));
  });
  after(async () => {
    await workers?.shutdown();
    await host?.close();
    for (const folder of [world?.folder, bin]) if (folder) await rm(folder, { recursive: true, force: true });
  });

  async function shell(command: string): Promise<string> {
    const env = {
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      HOME: bin,
      TEMPORAL_ADDRESS: host.server.address,
      TEMPORAL_NAMESPACE: host.server.namespace,
    };
    return (await promisify(execFile)('sh', ['-c', command], { env })).stdout;
  }
  const schedule = () => host.client.schedule.getHandle('nightly');
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));

  it('equals the one that gauntlet creates, and can be triggered, backfilled, paused and deleted as documented', async () => {
    const commands = await documented();
    assert.deepEqual(
      [...commands.keys()].map((name) => name.replace(/ .* /, ' ')),
      ['create', 'list', 'trigger', 'backfill', 'toggle --pause', 'toggle --unpause', 'delete'],
    );
    const line = (start: string): string => [...commands].find(([name]) => name.startsWith(start))![1];

    const create = line('create');
    const [quoted, json] = /--input '([^']*)'/.exec(create)!;
    const input = JSON.parse(json!) as RunConfigInput;
    assert.deepEqual(input, scheduledInput('nightly', { preset: 'tiny' }, false));
    await shell(create);
    const timing = { cron: '0 2 * * *', timeZone: 'Europe/Berlin', jitter: '0s', catchUp: '1d', pauseOnFailure: true };
    const own = { ...timing, id: 'own', overlap: ScheduleOverlapPolicy.SKIP };
    await createSchedule(host.client, own, scheduledInput('nightly', { preset: 'tiny' }, false));
    const [byHand, byGauntlet] = [
      await describeSchedule(schedule()),
      await describeSchedule(host.client.schedule.getHandle('own')),
    ];
    const [calendar, ...none] = byGauntlet.spec.calendars!;
    assert.deepEqual([calendar!.comment, none], [timing.cron, []]);
    assert.deepEqual(byHand.spec, { ...byGauntlet.spec, calendars: [{ ...calendar, comment: '' }] });
    assert.deepEqual(byHand.policies, byGauntlet.policies);
    const { workflowType, taskQueue, args, workflowId } = byHand.action;
    const made = byGauntlet.action;
    assert.deepEqual([workflowType, taskQueue, args], [made.workflowType, made.taskQueue, made.args]);
    assert.equal(workflowId, 'nightly');
    await host.client.schedule.getHandle('own').delete();

    // the same schedule for a run that takes a moment
    await shell(line('delete'));
    await shell(create.replace(quoted!, `--input '${JSON.stringify({ ...input, ...RUN })}'`));
    assert.match(await shell(line('list')), /nightly/);
    await shell(line('trigger'));
    const runs = async (count: number): Promise<string[]> => {
      for (;;) {
        const { recentActions } = (await describeSchedule(schedule())).info;
        const ids = [...new Set(recentActions.map(({ action }) => action.workflow.workflowId))];
        if (ids.length >= count) return ids;
        await pause();
      }
    };
    const [first] = (await runs(1)) as [string];
    await host.client.workflow.getHandle(first).result();
    await shell(line('backfill'));
    const all = await runs(3);
    for (const id of all) await host.client.workflow.getHandle(id).result();
    assert.deepEqual(
      all.filter((id) => id !== first).map((id) => id.slice(0, 'nightly-2026-01-01T01'.length)),
      ['nightly-2026-01-01T01', 'nightly-2026-01-02T01'], // 2 a.m. in Berlin
    );
    for (const id of all.filter((id) => id !== first))
      assert.match((await readRun(world.deps.store, id)).origin?.run ?? '', /^nightly-/, id);

    const isPaused = async (): Promise<boolean> => (await describeSchedule(schedule())).state.paused;
    await shell([...commands].find(([name]) => /^toggle .*--pause/.test(name))![1]);
    assert.equal(await isPaused(), true);
    await shell([...commands].find(([name]) => /^toggle .*--unpause/.test(name))![1]);
    assert.equal(await isPaused(), false);
    await shell(line('delete'));
    await assert.rejects(describeSchedule(schedule()));
  });
});
