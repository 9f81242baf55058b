// A run continues as new between stages and when the server suggests it. The server of these tests suggests it before every step.
// continuing.test.ts compares the bytes of such a run, and continueAsNew.test.ts its input and progress on a server.
import assert from 'node:assert/strict';
import { ScheduleOverlapPolicy, WorkflowFailedError } from '@temporalio/client';
import { createSchedule, scheduledInput } from '../../cli/commands/schedule.js';
import { describeSchedule } from '../../cli/run/outage.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { historiesOf } from '../../lab/bench/histories.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { readRun } from '../../store/runs.js';
import { inProcess } from '../cli/support.js';
import { RUN } from './disturbances.js';
import { runFixture } from './fixture.js';
import { startRun } from './server.js';

/** The server suggests to continue as new if a history has more events. A single step has more. */
const EVENTS = 10;

describe('a run that continues as new', () => {
  const f = runFixture('long', { 'limit.historyCount.suggestContinueAsNew': EVENTS });

  it('accepts a change that arrives before the first task of its next execution', async () => {
    await (await f.start()).result();
    const histories = await historiesOf(f.host.client, f.id);
    assert.equal(histories.length, 6, 'the preparation, four steps, and the end');
    const [, second] = histories;
    const { payloads } = second![0]!.workflowExecutionStartedEventAttributes!.input!;
    const args = payloads!.map(({ data }) => JSON.parse(Buffer.from(data!).toString()) as unknown);
    await f.stopWorkers();
    await startRun(f.host.client, f.id, ...args);
    const accepted = f.update('change', { ppo: { learningRate: 0.25 } });
    await new Promise((resolve) => setTimeout(resolve, 500)); // the server has received it
    await f.serve();
    assert.match(await accepted, /takes effect/);
    await f.completed();
    assert.deepEqual(await f.actions(), [['change', 0]]);
  });

  it('counts as one run for its schedule: a start is skipped while it runs, and the start after it continues from it', async () => {
    const name = f.id;
    const { client } = f.host;
    const schedule = client.schedule.getHandle(name);
    const timing = { id: name, cron: '0 0 1 1 *', timeZone: 'UTC', jitter: '0s', catchUp: '1d', pauseOnFailure: true };
    const { seed: _, ...config } = RUN;
    const input = scheduledInput(name, config as RunConfigInput, false);
    await createSchedule(client, { ...timing, overlap: ScheduleOverlapPolicy.SKIP }, input);
    type Info = Awaited<ReturnType<typeof schedule.describe>>;
    const described = async (condition: (now: Info) => boolean): Promise<Info> => {
      for (;;) {
        const now = await describeSchedule(schedule);
        if (condition(now)) return now;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const recent = ({ info }: Info): string[] => info.recentActions.map(({ action }) => action.workflow.workflowId);
    const going = ({ info }: Info): string[] =>
      info.runningActions.map((action) => ('workflow' in action ? action.workflow.workflowId : ''));
    const trigger = () => inProcess('schedule', 'trigger', name, '--store', f.world.folder);
    /** Waits until `gauntlet schedule list` shows the run, because the index of the server is updated later. */
    const listed = async (
      condition: (row: { runs: string[]; paused: boolean; note: string }) => boolean,
    ): Promise<void> => {
      for (;;) {
        const { out } = await inProcess('schedule', 'list', '--json', '--store', f.world.folder);
        const rows = JSON.parse(out) as { id: string; runs: string[]; paused: boolean; note: string }[];
        if (condition(rows.find((row) => row.id === name)!)) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };

    const hold = f.holdUpdate(3);
    assert.equal((await trigger()).code, 0);
    await hold.reached;
    const [first] = recent(await described((now) => recent(now).length === 1)) as [string];
    assert.ok((await historiesOf(client, first)).length > 1);
    await schedule.trigger(ScheduleOverlapPolicy.SKIP); // starts a run as the clock does
    const skipped = await described(({ info }) => info.numActionsSkippedOverlap === 1);
    assert.deepEqual([recent(skipped), going(skipped)], [[first], [first]]);
    const refused = await trigger();
    assert.deepEqual([refused.code, refused.err.includes(`npx gauntlet stop ${first} `)], [2, true], refused.err);
    await listed(({ runs, paused }) => runs.join() === first && !paused);
    hold.release();
    await f.run(first).result();
    await described((now) => going(now).length === 0);

    const failing = f.failUpdates(3);
    assert.equal((await trigger()).code, 0);
    const [, second] = recent(await described((now) => recent(now).length === 2)) as [string, string];
    await assert.rejects(f.run(second).result(), WorkflowFailedError);
    assert.equal(failing.counter.calls, 3);
    const { store } = f.world.deps;
    assert.equal((await readRun(store, second)).origin?.run, first);
    const adapter = async (of: string, checkpoint: string) =>
      (await loadCheckpoint(store, of, checkpoint)).metadata.files['generator/adapter_model.safetensors'];
    assert.equal(await adapter(second, 'checkpoint_stage_0_epoch_0'), await adapter(first, 'best'));
    assert.ok((await historiesOf(client, second)).length > 1);
    await described(({ state }) => state.paused); // its last execution has failed
    await listed(({ runs, paused }) => runs.join() === [first, second].join() && paused);
    for (const [command, paused] of [
      ['resume', false],
      ['pause', true],
    ] as const) {
      assert.equal((await inProcess('schedule', command, name, '--store', f.world.folder)).code, 0);
      await listed((row) => row.paused === paused && (!paused || row.note === 'by hand'));
    }
    await schedule.delete();
  });
});
