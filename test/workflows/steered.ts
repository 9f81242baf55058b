// A run of doubles on a real server that a test steers or lets fail: made anew for every test.
import { rm } from 'node:fs/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { RunMetrics } from '../../core/schema/metrics.js';
import { type RunProgress, runProgressSchema } from '../../core/schema/run.js';
import { readMetrics } from '../../store/runs.js';
import type { RunningWorkers } from '../../workers/start.js';
import { type Doubles, doubles, memoryDoubles, SMALL_RUN } from '../support/doubles.js';
import { record } from './golden.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

/** One engine update a step. */
export const RUN = {
  ...SMALL_RUN,
  ppo: { ...SMALL_RUN.ppo, epochs: 1, minibatch: 1000, warmupSteps: 0 },
  schedule: { stages: [1, 5], discriminatorSteps: 1, generatorSteps: 2, alternatingSteps: 0 },
};

/** Call it in a suite: the suite gets a server and workers, every test a store of its own. */
export function steeredRuns(name: string) {
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers;
  let id = 0;

  before(async function () {
    needTemporal(this);
    host = await startServer();
    workers = await workersOver(host.server, () => world);
  });
  after(async () => {
    await workers?.shutdown();
    await host?.close();
  });
  beforeEach(async () => {
    world = await memoryDoubles();
  });
  afterEach(() => rm(world.folder, { recursive: true, force: true }));

  /** For tests that read or break the files of the store. */
  async function useDisk(): Promise<void> {
    world = await doubles();
  }

  const start = (input: object = RUN) => startRun(host.client, `${name}-${++id}`, input);
  const progressOf = async (handle: WorkflowHandle) =>
    runProgressSchema.parse(await handle.query<RunProgress>('progress'));
  async function until(handle: WorkflowHandle, condition: (progress: RunProgress) => boolean): Promise<RunProgress> {
    for (;;) {
      const progress = await progressOf(handle).catch(() => undefined);
      if (progress && condition(progress)) return progress;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  /** What the Web UI shows of the run as it stands, line by line. */
  const shown = async (handle: WorkflowHandle) => {
    const metadata = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    return metadata.currentDetails.split('\n\n');
  };
  const records = async <T extends RunMetrics['kind']>(handle: WorkflowHandle, kind: T) =>
    (await readMetrics<RunMetrics>(world.deps.store, handle.workflowId)).filter((record) => record.kind === kind);

  /** Of the run and of its first stage. */
  async function recordAs(name: string, handle: WorkflowHandle): Promise<void> {
    await record(`${name}-run`, handle);
    await record(`${name}-stage`, host.client.workflow.getHandle(`${handle.workflowId}/stage-1`));
  }

  /** Opens when it is told to; `reached` when somebody has come to it. */
  function gate() {
    let release = (): void => undefined;
    let reach = (): void => undefined;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const open = new Promise<void>((resolve) => (release = resolve));
    const pass = (): Promise<void> => {
      reach();
      return open;
    };
    return { reached, release, pass };
  }

  /** Lets the update of step `n` of the run wait until it is released. */
  function holdUpdate(n: number): { reached: Promise<void>; release: () => void } {
    const { applyUpdate } = world.engine;
    const held = gate();
    let calls = 0;
    world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      if (++calls === n) await held.pass();
      return applyUpdate.apply(world.engine, given);
    };
    return held;
  }

  /** Of a file of the run: what is to come before it is written. */
  function beforeWriting(act: (path: string) => void | Promise<void>): void {
    const { store } = world.deps;
    const { writeRunFile } = store;
    store.writeRunFile = async (runId, path, bytes) => {
      await act(path);
      return writeRunFile.call(store, runId, path, bytes);
    };
  }

  /** Lets the writing of a file of the run wait until it is released. */
  function holdWriting(file: string): { reached: Promise<void>; release: () => void } {
    const held = gate();
    beforeWriting((path) => (path === file ? held.pass() : undefined));
    return held;
  }

  return {
    get host() {
      return host;
    },
    get world() {
      return world;
    },
    ...{ useDisk, start, progressOf, until, shown, records, recordAs, holdUpdate, beforeWriting, holdWriting },
  };
}
