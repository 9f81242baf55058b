// Changes of a workflow that has running executions: `patched`, and worker deployment versions, on a real server.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import { bundleWorkflowCode, NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { runResultSchema } from '../../core/schema/run.js';
import { DEPLOYMENT } from '../../core/temporal/queues.js';
import { createLogger } from '../../workers/logger.js';
import { installRuntime } from '../../workers/start.js';
import { doubles, SMALL_RUN } from '../support/doubles.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

const SILENT = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error: console.error };
const QUEUE = 'versions';
const { WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;

describe('a change of a workflow with running executions', () => {
  let host: TestServer;
  let connection: NativeConnection;
  const bundles: Record<string, { code: string }> = {};

  before(async function () {
    needTemporal(this);
    host = await startServer();
    installRuntime(createLogger('fatal'));
    connection = await NativeConnection.connect(host.server.connection);
    for (const name of ['first', 'patched', 'unpatched']) {
      const workflowsPath = fileURLToPath(new URL(`./versions/${name}.js`, import.meta.url));
      bundles[name] = await bundleWorkflowCode({ workflowsPath, logger: SILENT });
    }
  });
  after(async () => {
    await connection?.close();
    await host?.close();
  });

  async function served<T>(code: string, work: () => Promise<T>, options: Partial<WorkerOptions> = {}): Promise<T> {
    const worker = await Worker.create({
      connection,
      namespace: host.server.namespace,
      taskQueue: QUEUE,
      workflowBundle: bundles[code]!,
      activities: { say: async (word: string) => word },
      stickyQueueScheduleToStartTimeout: '1s',
      ...options,
    });
    return worker.runUntil(work());
  }
  const begin = (workflowId: string) => host.client.workflow.start('talk', { taskQueue: QUEUE, workflowId, args: [] });
  async function until(handle: WorkflowHandle, type: string): Promise<void> {
    for (;;) {
      const { events } = await handle.fetchHistory();
      if (events?.some((event) => event[type as keyof typeof event])) return;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  const started = async (id: string): Promise<WorkflowHandle> =>
    served('first', async () => {
      const handle = await begin(id);
      await until(handle, 'activityTaskCompletedEventAttributes');
      return handle;
    });

  it('lets old executions complete on the old code path and new ones on the new path, with `patched`', async () => {
    const old = await started('patched-old');
    await served('patched', async () => {
      await old.signal('go');
      assert.equal(await old.result(), 'one two');
      const fresh = await begin('patched-new');
      await fresh.signal('go');
      assert.equal(await fresh.result(), 'hello one two');
    });
  });

  it('stops old executions without `patched`, until code that can replay their histories is back', async () => {
    const old = await started('unpatched-old');
    await served('unpatched', async () => {
      await old.signal('go');
      await until(old, 'workflowTaskFailedEventAttributes');
    });
    const { events } = await old.fetchHistory();
    const failed = events?.find((event) => event.workflowTaskFailedEventAttributes)?.workflowTaskFailedEventAttributes;
    assert.equal(
      failed?.cause,
      WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR,
      failed?.failure?.message ?? '',
    );
    assert.equal((await old.describe()).status.name, 'RUNNING');
    await served('patched', async () => assert.equal(await old.result(), 'one two'));
  });

  /** Does the same as `temporal worker deployment set-current-version` once a worker of the build is known. */
  async function makeCurrent(buildId: string): Promise<void> {
    for (;;) {
      try {
        await host.client.workflowService.setWorkerDeploymentCurrentVersion({
          namespace: host.server.namespace,
          deploymentName: DEPLOYMENT,
          buildId,
          identity: 'test',
        });
        return;
      } catch (error) {
        if (!/not found|no Worker Deployment|FAILED_PRECONDITION/i.test(String(error))) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }
  /** The builds that did work for an execution. */
  async function buildsOf(handle: WorkflowHandle): Promise<Set<string>> {
    const { events } = await handle.fetchHistory();
    const builds = (events ?? []).flatMap(
      ({ workflowTaskCompletedEventAttributes: done }) => done?.deploymentVersion?.buildId ?? [],
    );
    return new Set(builds);
  }

  it('sends no work to workers of an old build, and running executions move to the current build', async () => {
    const world = await doubles();
    const run = {
      ...SMALL_RUN,
      schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 0 },
    };
    const { applyUpdate } = world.engine;
    let reach = (): void => undefined;
    let release = (): void => undefined;
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      reach();
      await gate;
      return applyUpdate.apply(world.engine, given);
    };
    const old = await workersOver(host.server, world, { buildId: 'one' });
    await makeCurrent('one');
    const handle = await startRun(host.client, 'upgraded', run);
    await reached;
    const today = await workersOver(host.server, world, { buildId: 'two' });
    await makeCurrent('two');
    release();
    runResultSchema.parse(await handle.result());
    assert.deepEqual([...(await buildsOf(handle))], ['one', 'two']);
    const fresh = await startRun(host.client, 'after', run);
    await fresh.result();
    assert.deepEqual([...(await buildsOf(fresh))], ['two'], 'the stale workers, which still poll, get nothing');
    await today.shutdown();
    const waits = await startRun(host.client, 'refused', { ...run, seed: 5 });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.deepEqual([...(await buildsOf(waits))], []);
    await waits.terminate();
    await old.shutdown();
  });
});
