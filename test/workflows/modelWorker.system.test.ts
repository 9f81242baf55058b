// A run keeps its model work on one worker while that worker is alive, then continues on another worker with the same bytes.
// The workers are real processes, two for each role, with one store.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import proto from '@temporalio/proto';
import { createActivities } from '../../activities/index.js';
import type { RunResult } from '../../core/schema/run.js';
import { historiesOf } from '../../lab/bench/histories.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import type { Store } from '../../store/store.js';
import { doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { needTemporal, startRun, startServer, type TestServer } from './server.js';
import { WorkerProcesses } from './workerProcesses.js';

const SCHEDULE_TO_START = proto.temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START;
/** The generation at which the model worker hangs, within the first stage. The base model takes 15 generations. */
const HANG_AT = 25;

const RUN = {
  ...SMALL_RUN,
  batch: { generator: { problems: 2, samples: 2 }, discriminator: { problems: 2, samples: 2 } },
  evaluation: { problems: 2, testProblems: 2 },
};

describe('the model work of a run', () => {
  let host: TestServer;
  let workers: WorkerProcesses;

  before(async function () {
    needTemporal(this);
    host = await startServer();
    workers = new WorkerProcesses(host);
  });
  after(async () => {
    workers?.kill();
    await host?.close();
  });

  const calls = (): [pid: number, what: string][] => {
    const file = join(host.folder, 'calls');
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    return lines.map((line) => [Number(line.split(' ')[0]), line.split(' ')[1]!]);
  };
  const bytesOf = async (store: Store, runId: string) =>
    (await listCheckpoints(store, runId)).map(({ name, files }) => [name, files]);

  it('stays on one of two workers until that worker is killed, and completes with the same bytes', async () => {
    const models = await Promise.all([workers.start('gpu', HANG_AT), workers.start('gpu', HANG_AT)]);
    await Promise.all([workers.start('orchestrator,sandbox,cpu'), workers.start('orchestrator,sandbox,cpu')]);
    const handle = await startRun(host.client, 'kept', RUN);
    /** The process that hangs. */
    const stuck = (): number | undefined => {
      const counts = new Map<number, number>();
      for (const [pid, what] of calls()) if (what === 'generate') counts.set(pid, (counts.get(pid) ?? 0) + 1);
      return [...counts].find(([, count]) => count >= HANG_AT)?.[0];
    };
    let victim: number | undefined;
    while (victim === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 30));
      victim = stuck();
    }
    const before = calls();
    const other = models.find(({ pid }) => pid !== victim)!;
    models.find(({ pid }) => pid === victim)!.kill('SIGKILL');
    other.kill('SIGUSR2'); // the other process does not hang
    const result = (await handle.result()) as RunResult;
    const after = calls().slice(before.length);
    assert.deepEqual([...new Set(after.map(([pid]) => pid))], [other.pid], 'the other worker does the rest');

    const moves = await movesOf('kept');
    assert.ok(moves.timeouts >= 1, 'the kill was noticed');
    assert.equal(
      moves.claims,
      1 + moves.timeouts,
      'the run claims a worker at its start, and whenever a worker does not take work',
    );
    assert.equal(moves.elsewhere, 0, 'no activity ran on another worker');
    // On a busy machine, a live worker may not take work in time, and the run moves before the kill.
    const open = before.filter(([, what]) => what === 'open').length;
    assert.ok(open <= moves.timeouts, `${open} bases were opened before the kill, ${moves.timeouts} moves in all`);

    const calm = await doubles();
    const expected = await runPipeline(createActivities(calm.deps), 'kept', RUN);
    assert.deepEqual({ ...result, trainingSeconds: 0 }, { ...expected, trainingSeconds: 0 });
    const store = await openStore(join(host.folder, 'store'));
    assert.deepEqual(await bytesOf(store, 'kept'), await bytesOf(calm.deps.store, 'kept'));
  });

  /** The number of claims, of activities that no worker took in time, and of activities that ran on another worker. */
  async function movesOf(id: string): Promise<{ claims: number; timeouts: number; elsewhere: number }> {
    const found = { claims: 0, timeouts: 0, elsewhere: 0 };
    for (const events of await historiesOf(host.client, id)) {
      const queues = new Map<string, string>();
      for (const event of events) {
        const scheduled = event.activityTaskScheduledEventAttributes;
        if (scheduled) queues.set(String(event.eventId), scheduled.taskQueue?.name ?? '');
        if (scheduled?.activityType?.name === 'claimModelWorker') found.claims++;
        const { failure } = event.activityTaskTimedOutEventAttributes ?? {};
        if (failure?.timeoutFailureInfo?.timeoutType === SCHEDULE_TO_START) found.timeouts++;
        const started = event.activityTaskStartedEventAttributes;
        const own = /^gauntlet-gpu\/[^/]+\/(\d+)-/.exec(queues.get(String(started?.scheduledEventId)) ?? '');
        if (own && !started?.identity?.startsWith(`${own[1]}@`)) found.elsewhere++;
      }
    }
    return found;
  }
});
