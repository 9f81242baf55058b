// A training run whose sandbox fails, and one that is cancelled, on a real server.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { GauntletError } from '../../core/base/errors.js';
import type { RunResult } from '../../core/schema/run.js';
import type { RunningWorkers } from '../../workers/start.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

const ONE_STAGE = {
  ...SMALL_RUN,
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 0 },
};

describe('training as a workflow', () => {
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers;

  before(async function () {
    needTemporal(this);
    host = await startServer();
  });
  after(async () => host?.close());
  beforeEach(async () => {
    world = await doubles();
    workers = await workersOver(host.server, world);
  });
  afterEach(async () => {
    await workers?.shutdown();
  });

  it('retries a sandbox fault, which does not change the result', async () => {
    const run = world.sandbox.run.bind(world.sandbox);
    let faults = 0;
    world.sandbox.run = async (jobs) => {
      if (faults++ === 1) throw new GauntletError('SANDBOX_FAULT', 'the daemon went away');
      return run(jobs);
    };
    const result = (await (await startRun(host.client, 'faulty', ONE_STAGE)).result()) as RunResult;
    const other = await doubles();
    const expected = await runPipeline(createActivities(other.deps), 'faulty', ONE_STAGE);
    assert.deepEqual(result.digests, expected.digests);
  });

  it('passes a cancellation on to the engine and ends', async () => {
    let isAborted = false;
    const { generate } = world.engine;
    let calls = 0;
    let blocked = (): void => undefined;
    const waiting = new Promise<void>((resolve) => {
      blocked = resolve;
    });
    world.engine.generate = (rows, options) => {
      if (++calls < 25) return generate.call(world.engine, rows, options);
      blocked();
      return new Promise((_, reject) => {
        options.signal?.addEventListener('abort', () => {
          isAborted = true;
          reject(new Error('aborted'));
        });
      });
    };
    const handle = await startRun(host.client, 'cancelled', ONE_STAGE);
    await waiting;
    await handle.cancel();
    await assert.rejects(handle.result());
    assert.equal((await handle.describe()).status.name, 'CANCELLED');
    for (let i = 0; i < 100 && !isAborted; i++) await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(isAborted);
  });
});
