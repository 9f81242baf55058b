// In a run of fifty steps, a step has few events and payloads are small. histories.test.ts tests recorded histories.
import assert from 'node:assert/strict';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { resolveConfig } from '../../core/config/presets.js';
import { countSteps } from '../../core/run/schedule.js';
import { type HistoryEvent, historiesOf } from '../../lab/bench/histories.js';
import { doubles } from '../support/doubles.js';
import { payloadSizes } from './golden.js';
import { needTemporal, startRun, startServer, workersOver } from './server.js';

const PAYLOAD_BYTES = 8 * 1024;
const EVENTS_PER_STEP = 40;
const ACTIVITIES_AT_ONCE = 2; // a step and an evaluation

/** The largest number of activities that were pending at the same time. */
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

describe('the history of the tiny preset', () => {
  it('has few events per step, few concurrent activities, and no payload over 8 KB', async function () {
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
    }
  });
});
