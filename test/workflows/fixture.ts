// Runs over doubles on a real server. Every test gets its own store. Workers serve all tests of a suite, unless a test stops
// them or needs others.
import type { WorkflowHandle } from '@temporalio/client';
import type { ControlMetrics, StepMetrics } from '../../core/schema/metrics.js';
import { type RunProgress, runProgressSchema, runResultSchema } from '../../core/schema/run.js';
import { readControls, readMetrics } from '../../store/runs.js';
import type { RunningWorkers, StartOptions } from '../../workers/start.js';
import { type Doubles, doubles } from '../support/doubles.js';
import { type Bytes, bytesOf, disturbances, RUN } from './disturbances.js';
import { findable, needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

/** Must be called in a suite. Adds hooks that start a server for the suite, and a store and workers for each test. */
export function runFixture(name: string, dynamicConfig?: Record<string, string | number>) {
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers | undefined;
  let count = 0;
  const disturbed = disturbances(() => world);

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
    disturbed.releaseAll();
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

  /** The checkpoints of the run after it has completed. */
  async function completed(runId = id()): Promise<Bytes> {
    runResultSchema.parse(await run(runId).result());
    return bytesOf(world.deps.store, runId);
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
    /** Gives the next run of the test a different id. */
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
    ...disturbed,
  };
}
