// Runs over doubles on a real server. Every test gets its own store. Workers serve all tests of a suite, unless a test stops
// them or needs others.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { createActivities } from '../../activities/index.js';
import type { Request } from '../../core/control.js';
import { GauntletError } from '../../core/errors.js';
import type { ControlMetrics, StepMetrics } from '../../core/schema/metrics.js';
import { type RunProgress, type RunResult, runProgressSchema, runResultSchema } from '../../core/schema/run.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { readControls, readMetrics } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import type { RunningWorkers, StartOptions } from '../../workers/start.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { findable, needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

/** One discriminator step and three generator steps, each with one engine update and little else. */
export const RUN = {
  ...SMALL_RUN,
  stages: [5],
  ppo: { ...SMALL_RUN.ppo, epochs: 1, learningRate: 1e-4, minibatch: 1000, warmupSteps: 0 },
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 3, alternatingSteps: 0 },
  batch: { generator: { problems: 3, samples: 2 }, discriminator: { problems: 2, samples: 2 } },
  evaluation: { problems: 2, testProblems: 2 },
  advantage: { dropZeroVariance: false },
};

/** Two stages of two steps each. */
export const TWO_STAGES = {
  ...RUN,
  stages: [1, 5],
  schedule: { stages: [1, 5], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 0 },
};

/** The digest of every file of every checkpoint. */
export type Bytes = Record<string, Record<string, string>>;

export async function bytesOf(store: Store, runId: string): Promise<Bytes> {
  return Object.fromEntries((await listCheckpoints(store, runId)).map(({ name, files }) => [name, files]));
}

interface Undisturbed {
  bytes: Bytes;
  result: RunResult;
}
const known = new Map<string, Promise<Undisturbed>>();

export interface Hold {
  /** Settles when a call waits. */
  reached: Promise<void>;
  release(): void;
}

/** To be called in a suite: adds the hooks that start a server for the suite, and a store and workers for each test. */
export function runFixture(name: string, dynamicConfig?: Record<string, string | number>) {
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers | undefined;
  let count = 0;
  let holds: Hold[] = [];

  before(async function () {
    needTemporal(this);
    host = findable(await startServer(dynamicConfig && { dynamicConfig }));
  });
  after(async () => {
    await stopWorkers();
    await host?.close();
  });
  beforeEach(async () => {
    count++;
    world = await doubles();
    if (!workers) await serve();
  });
  afterEach(async () => {
    for (const hold of holds) hold.release();
    holds = [];
    await rm(world.folder, { recursive: true, force: true });
  });

  async function stopWorkers(): Promise<void> {
    await workers?.shutdown();
    workers = undefined;
  }
  async function serve(options: Partial<StartOptions> = {}): Promise<void> {
    await stopWorkers();
    workers = await workersOver(host.server, () => world, options);
  }

  const id = (): string => `${name}-${count}`;
  const start = (input: object = RUN, runId = id()) => startRun(host.client, runId, input);
  const run = (runId = id()): WorkflowHandle => host.client.workflow.getHandle(runId);
  const update = (name: string, ...args: unknown[]): Promise<string> =>
    run().executeUpdate<string, [unknown]>(name, { args: args as [unknown] });

  const progressOf = async (handle: WorkflowHandle) =>
    runProgressSchema.parse(await handle.query<RunProgress>('progress'));
  async function until(
    condition: RunProgress['state'] | ((progress: RunProgress) => boolean),
    handle = run(),
  ): Promise<RunProgress> {
    const holds = typeof condition === 'string' ? ({ state }: RunProgress) => state === condition : condition;
    for (;;) {
      const progress = await progressOf(handle).catch(() => undefined);
      if (progress && holds(progress)) return progress;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  /** The paragraphs that the Web UI shows. */
  async function details(handle = run()): Promise<string[]> {
    const metadata = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    return metadata.currentDetails.split('\n\n');
  }
  async function steps(runId = id()): Promise<StepMetrics[]> {
    const records = await readMetrics(world.deps.store, runId);
    return records.filter((record): record is StepMetrics => record.kind === 'step');
  }
  const controls = (runId = id()): Promise<ControlMetrics[]> => readControls(world.deps.store, runId);
  const actions = async (): Promise<[string, number][]> => (await controls()).map(({ action, step }) => [action, step]);

  /** The checkpoints of the run once it has completed. */
  async function completed(runId = id()): Promise<Bytes> {
    runResultSchema.parse(await run(runId).result());
    return bytesOf(world.deps.store, runId);
  }
  /**
   * A run of the same configuration in this process.
   * @param asked the requests that are made after so many steps
   */
  function undisturbed(config: object = RUN, asked: Record<number, Request[]> = {}): Promise<Undisturbed> {
    const key = JSON.stringify([config, asked]);
    if (!known.has(key)) known.set(key, runUndisturbed(config, asked));
    return known.get(key)!;
  }
  async function runUndisturbed(config: object, asked: Record<number, Request[]>): Promise<Undisturbed> {
    const other = await doubles();
    const queue = [...(asked[0] ?? [])];
    const result = await runPipeline(createActivities(other.deps), 'other', config, {
      requests: { take: () => queue.shift() },
      onProgress: ({ step }) => void queue.push(...(asked[step ?? -1] ?? [])),
    });
    const bytes = await bytesOf(other.deps.store, 'other');
    await rm(other.folder, { recursive: true, force: true });
    assert.ok(Object.keys(bytes).length >= 2);
    return { bytes, result };
  }

  function newHold(): Hold & { wait(): Promise<void> } {
    let release = (): void => undefined;
    let reach = (): void => undefined;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const released = new Promise<void>((resolve) => (release = resolve));
    const wait = (): Promise<void> => {
      reach();
      return released;
    };
    const hold = { reached, release, wait };
    holds.push(hold);
    return hold;
  }
  /** Calls `act` with the number of the call before each engine update. There is one update for each step. */
  function beforeUpdate(act: (call: number) => void | Promise<void>): { calls: number } {
    const { applyUpdate } = world.engine;
    const counter = { calls: 0 };
    world.engine.applyUpdate = async (...args: Parameters<typeof applyUpdate>) => {
      await act(++counter.calls);
      return applyUpdate.apply(world.engine, args);
    };
    return counter;
  }
  /** Engine update `n` and all later ones wait until they are released. */
  function holdUpdate(n: number): Hold & { counter: { calls: number } } {
    const hold = newHold();
    const counter = beforeUpdate((call) => (call >= n ? hold.wait() : undefined));
    return { ...hold, counter };
  }
  /** Engine updates fail from call `from` on, before call `to`, until `repair` is called. */
  function failUpdates(from: number, to = Number.POSITIVE_INFINITY) {
    let isBroken = true;
    const counter = beforeUpdate((call) => {
      if (isBroken && call >= from && call < to) throw new GauntletError('BAD_ADAPTER', 'the adapter is damaged');
    });
    const repair = (): void => {
      isBroken = false;
    };
    return { counter, repair };
  }
  /** Calls `act` with the path of each file of the run before it is written. */
  function beforeWrite(act: (path: string) => void | Promise<void>): void {
    const { store } = world.deps;
    const { writeRunFile, createRunFile } = store;
    store.writeRunFile = async (runId, path, bytes) => {
      await act(path);
      return writeRunFile.call(store, runId, path, bytes);
    };
    store.createRunFile = async (runId, path, bytes) => {
      await act(path);
      return createRunFile.call(store, runId, path, bytes);
    };
  }
  /** Writes of this file of the run wait until they are released. */
  function holdWrite(file: string): Hold {
    const hold = newHold();
    beforeWrite((path) => (path === file ? hold.wait() : undefined));
    return hold;
  }
  /** Writes of this file of the run fail until `repair` is called. */
  function failWrite(file: string): { repair(): void } {
    let isBroken = true;
    beforeWrite((path) => {
      if (isBroken && path === file) throw new GauntletError('BAD_INPUT', `cannot write ${file}`);
    });
    return {
      repair: () => {
        isBroken = false;
      },
    };
  }

  return {
    get host() {
      return host;
    },
    get world() {
      return world;
    },
    get workers() {
      return workers;
    },
    get id() {
      return id();
    },
    /** Gives the next run of the test another id. */
    next: () => void count++,
    serve,
    stopWorkers,
    start,
    run,
    update,
    progressOf,
    until,
    details,
    steps,
    controls,
    actions,
    completed,
    undisturbed,
    newHold,
    beforeUpdate,
    holdUpdate,
    failUpdates,
    beforeWrite,
    holdWrite,
    failWrite,
  };
}
