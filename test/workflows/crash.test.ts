import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import type { RunProgress, RunResult } from '../../core/schema/run.js';
import { packageRoot, tinyModelPath } from '../../data/paths.js';
import { openDeps } from '../../workers/deps.js';
import { runPipeline } from '../../workflows/pipeline.js';
import { needTemporal, startRun, startServer, type TestServer } from './server.js';

/** Real model, real sandbox, real processes; one stage of three updates on few problems. */
const SHORT_RUN = {
  preset: 'tiny',
  seed: 1,
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 1 },
  batch: { generator: { problems: 6, samples: 4 }, discriminator: { problems: 4, samples: 4 } },
  evaluation: { problems: 6, testProblems: 6 },
  sandbox: 'wasm',
};

describe('kill -9 in the middle of a run', function () {
  this.timeout(420_000); // four worker starts, each with a model and an interpreter; a busy machine is slow at that
  let folder: string;
  let expected: RunResult;
  const children: ChildProcess[] = [];

  before(async function () {
    needTemporal(this);
    if (!existsSync(join(tinyModelPath(), 'model.safetensors'))) this.skip(); // the embedded model has not been made
    folder = await mkdtemp(join(tmpdir(), 'gauntlet-crash-'));
    const { deps, close } = await openDeps({ store: join(folder, 'undisturbed'), say: () => undefined });
    expected = await runPipeline(createActivities(deps), 'run', SHORT_RUN);
    await close();
  });
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  function worker(address: string): ChildProcess {
    const main = join(packageRoot(), 'dist', 'workers', 'main.js');
    const env = {
      ...process.env,
      TEMPORAL_ADDRESS: address,
      GAUNTLET_STORE: join(folder, 'disturbed'),
      GAUNTLET_LOG: 'fatal',
    };
    const child = spawn(process.execPath, [main], { env, stdio: 'ignore' });
    children.push(child);
    return child;
  }

  it('of the workers and of the server, the run ends with the bytes of an undisturbed one', async () => {
    let host = await startServer({ folder: join(folder, 'server') });
    const { address } = host.server;
    const first = worker(address);
    await startRun(host.client, 'run', SHORT_RUN);
    await reaches(host, (progress) => progress.state === 'training');
    await new Promise((resolve) => setTimeout(resolve, 300)); // into the first update
    first.kill('SIGKILL');

    const second = worker(address);
    await reaches(host, ({ step }) => step >= 1);
    process.kill(host.server.pid!, 'SIGKILL');
    await host.server.exited;
    second.kill('SIGKILL');
    await host.close();

    host = await startServer({ folder: join(folder, 'server'), port: Number(address.split(':')[1]) });
    worker(address);
    const result = (await host.client.workflow.getHandle('run').result()) as RunResult;
    await host.close();
    assert.deepEqual(result.digests, expected.digests);
    assert.deepEqual([result.before, result.after, result.best], [expected.before, expected.after, expected.best]);
    assert.ok(Object.values(expected.digests).every((digest) => /^sha256:/.test(digest)));
  });
});

async function reaches(host: TestServer, condition: (progress: RunProgress) => boolean): Promise<void> {
  const handle = host.client.workflow.getHandle('run');
  for (;;) {
    const progress = await handle.query<RunProgress>('progress').catch(() => undefined); // no worker, no answer
    if (progress && condition(progress)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
