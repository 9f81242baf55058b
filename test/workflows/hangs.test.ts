// A model call that never returns, on one of two model workers: real processes on one store.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import type { RunResult } from '../../core/schema/run.js';
import { historiesOf } from '../../lab/bench/orchestration/histories.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import { doubles, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { needTemporal, startRun, startServer, type TestServer } from './server.js';
import { WorkerProcesses } from './workerProcesses.js';

const HANG_AT = 6; // generations of one worker
const BOUND_S = 2;
const LONGEST_S = 60; // until another worker goes on; a busy machine is slow

describe('a model call that never returns', function () {
  this.timeout(180_000);
  let host: TestServer;
  let workers: WorkerProcesses;

  before(async function () {
    needTemporal(this);
    host = await startServer();
    workers = new WorkerProcesses(host, { GAUNTLET_HANG_SECONDS: String(BOUND_S) });
  });
  after(async () => {
    workers?.kill();
    await host?.close();
  });

  const linesOf = (file: string): string[] => {
    const path = join(host.folder, file);
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  };

  it('ends its worker, and the run goes on elsewhere with the same bytes', async () => {
    const stuck = await workers.start('gpu', HANG_AT);
    const ended = once(stuck, 'exit');
    await workers.start('orchestrator,sandbox,cpu');
    const handle = await startRun(host.client, 'hung', TINIEST_RUN);
    while (linesOf('calls').filter((line) => line === `${stuck.pid} generate`).length < HANG_AT)
      await new Promise((resolve) => setTimeout(resolve, 20));
    const hungAt = performance.now();
    const other = await workers.start('gpu');
    assert.deepEqual(await ended, [1, null]);
    const { trainingSeconds: _, ...result } = (await handle.result()) as RunResult;

    const entry = linesOf(`log-${stuck.pid}`).map((line) => JSON.parse(line))[0] as Record<string, unknown>;
    assert.deepEqual([entry.call, entry.run], ['engine.generate', 'hung']);
    assert.match(
      String(entry.msg),
      /^\w+ hangs in engine\.generate: no progress for \d+ s; its worker ends and must be started again$/,
    );
    const after = linesOf('calls').slice(linesOf('calls').lastIndexOf(`${stuck.pid} generate`) + 1);
    assert.deepEqual([...new Set(after.map((line) => line.split(' ')[0]))], [String(other.pid)]);
    const failure = await failureOf('hung');
    assert.match(`${failure?.message}`, /hangs in engine\.generate/, 'the history says it, too');

    const calm = await doubles();
    const { trainingSeconds: __, ...expected } = await runPipeline(createActivities(calm.deps), 'hung', TINIEST_RUN);
    assert.deepEqual(result, expected);
    const store = await openStore(join(host.folder, 'store'));
    const filesOf = async (each: typeof store) => (await listCheckpoints(each, 'hung')).map(({ files }) => files);
    assert.deepEqual(await filesOf(store), await filesOf(calm.deps.store as typeof store));
    assert.ok(performance.now() - hungAt < 1000 * (BOUND_S + LONGEST_S));
    await rm(calm.folder, { recursive: true, force: true });
  });

  /** The failure of the first attempt of the activity that was tried again. */
  async function failureOf(id: string) {
    const events = (await historiesOf(host.client, id)).flat();
    const failures = events.map(
      ({ activityTaskStartedEventAttributes: started, activityTaskTimedOutEventAttributes: timedOut }) =>
        started?.lastFailure ?? timedOut?.failure?.cause,
    );
    return failures.find((failure) => failure?.message);
  }
});
