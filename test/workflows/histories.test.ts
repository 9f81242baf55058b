// What histories hold: those recorded still replay, every payload is small, and a training step costs few events.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { type HistoryEvent, historiesOf } from '../../bench/orchestration/histories.js';
import { resolveConfig } from '../../core/presets.js';
import { FAN_OUT } from '../../core/queues.js';
import { countSteps } from '../../core/schedule.js';
import { workflowBundle } from '../../workers/bundle.js';
import { createLogger } from '../../workers/logger.js';
import { misfitOf } from '../../workers/replay.js';
import { installRuntime } from '../../workers/start.js';
import { doubles } from '../support/doubles.js';
import { payloadSizes, recorded, recordedNames, workflowIdOf } from './golden.js';
import { needTemporal, startRun, startServer, workersOver } from './server.js';

const PAYLOAD_BYTES = 8 * 1024;
const EVENTS_PER_STEP = 80;

/** Activities scheduled and not yet ended, at most, of one history. */
function mostPending(events: readonly HistoryEvent[]): number {
  let [now, most] = [0, 0];
  for (const event of events) {
    if (event.activityTaskScheduledEventAttributes) most = Math.max(most, ++now);
    const ended =
      event.activityTaskCompletedEventAttributes ??
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes ??
      event.activityTaskCanceledEventAttributes;
    if (ended) now--;
  }
  return most;
}

const terminal = (events: Record<string, unknown>[]): string =>
  String(events.at(-1)!.eventType).replace('EVENT_TYPE_WORKFLOW_EXECUTION_', '');

describe('recorded histories', function () {
  this.timeout(180_000); // the first use makes the bundle

  before(() => installRuntime(createLogger('fatal')));

  it('are of runs that completed, failed, waited for a person, were steered and continued as new', async () => {
    const ends = new Map<string, string>();
    for (const name of await recordedNames()) ends.set(name, terminal((await recorded(name)).events));
    const expected = {
      ...{ trainFullPipeline: 'COMPLETED', trainStage: 'COMPLETED', solveProblems: 'COMPLETED' },
      ...{ 'controlled-run': 'COMPLETED', 'controlled-stage': 'COMPLETED' },
      ...{ 'waited-run': 'COMPLETED', 'waited-stage': 'COMPLETED' },
      ...{ 'continued-run': 'COMPLETED', 'continued-stage': 'COMPLETED' },
      ...{ 'failed-run': 'FAILED', 'failed-stage': 'FAILED' },
    };
    assert.deepEqual(Object.fromEntries([...ends].sort()), Object.fromEntries(Object.entries(expected).sort()));
    const has = async (name: string, type: string): Promise<boolean> =>
      (await recorded(name)).events.some(({ eventType }) => String(eventType).includes(type));
    assert.ok(await has('controlled-run', 'UPDATE_ACCEPTED'), 'requests came as updates');
    assert.ok(await has('waited-stage', 'SIGNALED'), 'the decision reached the stage');
    assert.ok(await has('waited-stage', 'ACTIVITY_TASK_FAILED'));
  });

  it('still replay', async () => {
    const codePath = await workflowBundle();
    for (const name of await recordedNames()) {
      const history = await recorded(name);
      await Worker.runReplayHistory({ workflowBundle: { codePath } }, history, workflowIdOf(history));
    }
  });

  it('do not replay when what they did is changed', async () => {
    const codePath = await workflowBundle();
    for (const [name, activity, other] of [
      ['controlled-stage', 'reviseRun', 'recordMetrics'],
      ['waited-stage', 'trainPolicy', 'computeRewards'],
      ['failed-run', 'prepareRun', 'renderReport'],
    ] as const) {
      const text = JSON.stringify(await recorded(name)).replace(`"${activity}"`, `"${other}"`);
      const history = JSON.parse(text) as unknown;
      const id = workflowIdOf(await recorded(name));
      const replay = Worker.runReplayHistory({ workflowBundle: { codePath } }, history, id);
      await assert.rejects(replay, { name: 'DeterminismViolationError' }, name);
    }
  });

  it('are told from those that today’s workflows cannot go on with, in one line that says why', async () => {
    const history = await recorded('failed-run');
    const id = workflowIdOf(history);
    assert.equal(await misfitOf(history as never, id), undefined);
    const changed = JSON.parse(JSON.stringify(history).replace('"prepareRun"', '"renderReport"')) as never;
    assert.match((await misfitOf(changed, id))!, /^[^\n]*renderReport[^\n]*$/);
  });

  it('hold no payload over 8 KB', async () => {
    for (const name of await recordedNames()) {
      const sizes = payloadSizes(await recorded(name));
      assert.ok(sizes.length > 10, `${name}: ${sizes.length} payloads`);
      assert.ok(Math.max(...sizes) < PAYLOAD_BYTES, `${name}: ${Math.max(...sizes)} bytes`);
    }
  });
});

describe('the history of the tiny preset', function () {
  this.timeout(170_000);

  it('is at most 80 events a training step, run and stages together, of a few activities at once and no payload over 8 KB', async function () {
    needTemporal(this);
    const host = await startServer();
    const world = await doubles();
    const workers = await workersOver(host.server, world);
    try {
      // few problems: how many there are does not change what is asked for
      const config = {
        preset: 'tiny',
        batch: { generator: { problems: 2, samples: 2 }, discriminator: { problems: 2, samples: 2 } },
        evaluation: { problems: 2, testProblems: 2 },
      };
      await (await startRun(host.client, 'tiny', config)).result();
      const steps = countSteps(resolveConfig(config));
      assert.equal(steps, 60);
      const histories = await historiesOf(host.client, 'tiny');
      const events = histories.reduce((sum, history) => sum + history.events.length, 0);
      const sizes = histories.flatMap((history) => payloadSizes(JSON.parse(historyToJSON(history)) as unknown));
      const largest = Math.max(...sizes);
      const pending = Math.max(...histories.map((history) => mostPending(history.events)));
      assert.ok(pending >= 1 && pending <= FAN_OUT, `${pending} activities at once`);
      assert.ok(events / steps <= EVENTS_PER_STEP, `${events} events of ${steps} steps`);
      assert.ok(events > 20 * steps, 'the stages are counted');
      assert.ok(largest > 100 && largest < PAYLOAD_BYTES, `${largest} bytes`);
    } finally {
      await workers.shutdown();
      await host.close();
      await rm(world.folder, { recursive: true, force: true });
    }
  });
});
