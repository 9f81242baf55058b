// Two model workers share the batches of a run. They are real processes with one store, and one of them stops answering.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import type { RunResult } from '../../core/schema/run.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import { doubles, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { needTemporal, startRun, startServer, type TestServer } from './server.js';
import { WorkerProcesses } from './workerProcesses.js';

const HANG_AT = 6; // after this number of generations, a worker never answers again
const RUN = { ...TINIEST_RUN, ppo: { ...TINIEST_RUN.ppo, minibatch: 8 } };

describe('a batch that several workers share', () => {
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

  it('gives the same bytes as one worker, even if a worker joins late and another never finishes its shard', async () => {
    const first = await workers.start('orchestrator,sandbox,cpu,gpu');
    const handle = await startRun(host.client, 'shared', { ...RUN, engine: { shards: 2 } });
    const late = await workers.start('gpu', HANG_AT);
    const { trainingSeconds: _, ...result } = (await handle.result()) as RunResult;

    const calls = readFileSync(join(host.folder, 'calls'), 'utf8').trim().split('\n');
    const generationsOf = ({ pid }: ChildProcess): number => calls.filter((line) => line === `${pid} generate`).length;
    assert.equal(generationsOf(late), HANG_AT, 'the late worker took shards until it hung');
    assert.ok(generationsOf(first) > 0);

    const calm = await doubles();
    const { trainingSeconds: __, ...expected } = await runPipeline(createActivities(calm.deps), 'shared', RUN);
    assert.deepEqual(result, expected);
    const store = await openStore(join(host.folder, 'store'));
    const filesOf = async (each: typeof store) => (await listCheckpoints(each, 'shared')).map(({ files }) => files);
    assert.deepEqual(await filesOf(store), await filesOf(calm.deps.store as typeof store));
  });
});
