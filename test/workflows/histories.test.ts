// Recorded histories replay with the current workflow code. Payloads are small, and a training step costs few events.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { resolveConfig } from '../../core/presets.js';
import { countSteps } from '../../core/schedule.js';
import { type HistoryEvent, historiesOf } from '../../lab/bench/orchestration/histories.js';
import { workflowBundle } from '../../workers/bundle.js';
import { createLogger } from '../../workers/logger.js';
import { replayError } from '../../workers/replay.js';
import { installRuntime } from '../../workers/start.js';
import { doubles } from '../support/doubles.js';
import { payloadSizes, recorded, recordedNames, workflowIdOf } from './golden.js';
import { needTemporal, startRun, startServer, workersOver } from './server.js';

const PAYLOAD_BYTES = 8 * 1024;
const EVENTS_PER_STEP = 40;
const ACTIVITIES_AT_ONCE = 2; // a step and an evaluation

/** The maximum number of activities that were pending at one time. */
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

  const RECORDED = {
    whole: 'COMPLETED',
    steered: 'COMPLETED',
    waited: 'COMPLETED',
    failed: 'FAILED',
    continued: 'COMPLETED',
    evaluateCheckpoint: 'COMPLETED',
    solveProblems: 'COMPLETED',
  };

  it('cover runs that complete, are controlled, wait for a decision, fail and continue as new', async () => {
    const ends: Record<string, string> = {};
    for (const name of await recordedNames()) ends[name] = terminal((await recorded(name)).events);
    assert.deepEqual(ends, RECORDED);
    const has = async (name: string, type: string): Promise<boolean> =>
      JSON.stringify((await recorded(name)).events).includes(type);
    assert.ok(await has('steered', 'UPDATE_ACCEPTED'));
    assert.ok(await has('waited', 'UPDATE_ACCEPTED'));
    assert.ok(await has('waited', 'ACTIVITY_TASK_FAILED'));
    assert.ok(await has('continued', '"continuedExecutionRunId"'));
  });

  it('replay', async () => {
    const codePath = await workflowBundle();
    for (const name of await recordedNames()) {
      const history = await recorded(name);
      await Worker.runReplayHistory({ workflowBundle: { codePath } }, history, workflowIdOf(history));
    }
  });

  it('do not replay if an activity is replaced by another one', async () => {
    for (const [name, activity, other] of [
      ['whole', 'executeSuite', 'selectChains'],
      ['steered', 'reviseRun', 'recordMetrics'],
      ['waited', 'trainPolicy', 'generateTests'],
      ['failed', 'prepareRun', 'renderReport'],
      ['continued', 'renderReport', 'reviseRun'],
      ['evaluateCheckpoint', 'measureEvaluation', 'collectSolutions'],
      ['solveProblems', 'prepareSolving', 'prepareRun'],
    ] as const) {
      const text = JSON.stringify(await recorded(name));
      assert.ok(text.includes(`"${activity}"`), name);
      const history = JSON.parse(text.replace(`"${activity}"`, `"${other}"`)) as never;
      const error = await replayError(history, workflowIdOf(await recorded(name)));
      assert.match(error ?? '', new RegExp(`^[^\\n]*${other}[^\\n]*$`), name);
    }
  });

  it('have no payload over 8 KB', async () => {
    for (const name of await recordedNames()) {
      const sizes = payloadSizes(await recorded(name));
      assert.ok(sizes.length > 10, `${name}: ${sizes.length} payloads`);
      assert.ok(Math.max(...sizes) < PAYLOAD_BYTES, `${name}: ${Math.max(...sizes)} bytes`);
    }
  });
});

describe('the history of the tiny preset', function () {
  this.timeout(170_000);

  it('has few events for each step, few activities at once and no payload over 8 KB', async function () {
    needTemporal(this);
    const host = await startServer();
    const world = await doubles();
    const workers = await workersOver(host.server, world);
    try {
      // The number of problems does not change the number of events.
      const config = {
        preset: 'tiny',
        batch: { generator: { problems: 2, samples: 2 }, discriminator: { problems: 2, samples: 2 } },
        evaluation: { problems: 2, testProblems: 2 },
      };
      await (await startRun(host.client, 'tiny', config)).result();
      const steps = countSteps(resolveConfig(config));
      assert.equal(steps, 50);
      const histories = await historiesOf(host.client, 'tiny');
      assert.equal(histories.length, resolveConfig(config).schedule.stages.length, 'one execution for each stage');
      const events = histories.flat().length;
      const sizes = histories.flatMap((events) => payloadSizes(JSON.parse(historyToJSON({ events })) as unknown));
      const pending = Math.max(...histories.map(mostPending));
      assert.ok(pending >= 1 && pending <= ACTIVITIES_AT_ONCE, `${pending} activities at once`);
      assert.ok(events / steps <= EVENTS_PER_STEP, `${events} events of ${steps} steps`);
      assert.ok(events > 15 * steps, `${events} events are too few for ${steps} steps`);
      assert.ok(Math.max(...sizes) > 100 && Math.max(...sizes) < PAYLOAD_BYTES, `${Math.max(...sizes)} bytes`);
    } finally {
      await workers.shutdown();
      await host.close();
      await rm(world.folder, { recursive: true, force: true });
    }
  });
});
