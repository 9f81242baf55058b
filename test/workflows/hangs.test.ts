// A model call that never returns, in its own worker process. All other workers are in this process and use the same store.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import type { RunResult } from '../../core/schema/run.js';
import { historiesOf } from '../../lab/bench/histories.js';
import { openStore } from '../../store/openStore.js';
import type { RunningWorkers } from '../../workers/start.js';
import { doubles, memoryDoubles, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { bytesOf } from './disturbances.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';
import { WorkerProcesses } from './workerProcesses.js';

const HANG_AT = 6; // the number of generations of one worker
const BOUND_S = 2;
const LONGEST_S = 60; // the time until another worker continues, which is long on a busy machine

describe('a model call that never returns', () => {
  let host: TestServer;
  let processes: WorkerProcesses;
  const serving: RunningWorkers[] = [];

  before(async function () {
    needTemporal(this);
    host = await startServer();
    processes = new WorkerProcesses(host, { GAUNTLET_HANG_SECONDS: String(BOUND_S) });
  });
  after(async () => {
    processes?.kill();
    for (const workers of serving) await workers.shutdown();
    await host?.close();
  });

  const linesOf = (file: string): string[] => {
    const path = join(host.folder, file);
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  };

  it('ends its worker, and the run continues on another worker with the same bytes', async () => {
    const world = await doubles();
    const store = await openStore(join(host.folder, 'store'));
    const here = { ...world, deps: { ...world.deps, store } };
    const stuck = await processes.start('gpu', HANG_AT);
    const ended = once(stuck, 'exit');
    serving.push(await workersOver(host.server, here, { roles: ['orchestrator', 'sandbox', 'cpu'] }));
    const handle = await startRun(host.client, 'hung', TINIEST_RUN);
    while (linesOf('calls').filter((line) => line === `${stuck.pid} generate`).length < HANG_AT)
      await new Promise((resolve) => setTimeout(resolve, 20));
    const hungAt = performance.now();
    serving.push(await workersOver(host.server, here, { roles: ['gpu'] }));
    assert.deepEqual(await ended, [1, null]);
    const { trainingSeconds: _, ...result } = (await handle.result()) as RunResult;

    const entry = linesOf(`log-${stuck.pid}`).map((line) => JSON.parse(line))[0] as Record<string, unknown>;
    assert.deepEqual([entry.call, entry.run], ['engine.generate', 'hung']);
    assert.match(
      String(entry.msg),
      /^\w+ hangs in engine\.generate: no progress for \d+ s; its worker ends and must be started again$/,
    );
    assert.equal(linesOf('calls').at(-1), `${stuck.pid} generate`, 'the call that hangs is its last one');
    assert.ok(world.engine.calls.includes('generate'));
    const failure = await failureOf('hung');
    assert.match(`${failure?.message}`, /hangs in engine\.generate/, 'the history says it, too');

    const calm = await memoryDoubles();
    const { trainingSeconds: __, ...expected } = await runPipeline(createActivities(calm.deps), 'hung', TINIEST_RUN);
    assert.deepEqual(result, expected);
    assert.deepEqual(await bytesOf(store, 'hung'), await bytesOf(calm.deps.store, 'hung'));
    assert.ok(performance.now() - hungAt < 1000 * (BOUND_S + LONGEST_S));
  });

  /** The failure of the first attempt of the activity that was repeated. */
  async function failureOf(id: string) {
    const events = (await historiesOf(host.client, id)).flat();
    const failures = events.map(
      ({ activityTaskStartedEventAttributes: started, activityTaskTimedOutEventAttributes: timedOut }) =>
        started?.lastFailure ?? timedOut?.failure?.cause,
    );
    return failures.find((failure) => failure?.message);
  }
});
