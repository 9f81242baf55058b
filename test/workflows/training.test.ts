import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.js';
import { GauntletError } from '../../core/errors.js';
import { resolveConfig } from '../../core/presets.js';
import { TASK_QUEUES } from '../../core/queues.js';
import { type RunProgress, type RunResult, runProgressSchema, runResultSchema } from '../../core/schema/run.js';
import { workflowBundle } from '../../workers/bundle.js';
import type { RunningWorkers } from '../../workers/start.js';
import { runPipeline } from '../../workflows/pipeline.js';
import type { SolveProblemsResult } from '../../activities/types.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { record, recorded } from './golden.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

const ONE_STAGE = {
  ...SMALL_RUN,
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 0 },
};

describe('training as a workflow', function () {
  this.timeout(180_000);
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
    await rm(world.folder, { recursive: true, force: true });
  });

  it('ends with the digests and rates of the driver in process, and says where it stands on the way', async () => {
    const handle = await startRun(host.client, 'whole', SMALL_RUN);
    const result = runResultSchema.parse(await handle.result());
    assert.equal(result.runId, 'whole');
    const other = await doubles();
    const expected = await runPipeline(createActivities(other.deps), 'whole', SMALL_RUN);
    assert.deepEqual({ ...result, trainingSeconds: 0 }, { ...expected, trainingSeconds: 0 });
    await rm(other.folder, { recursive: true, force: true });
    await saysWhereItStands(handle);
    await record('trainFullPipeline', handle);
    await record('trainStage', host.client.workflow.getHandle('whole/stage-1'));
  });

  async function saysWhereItStands(handle: WorkflowHandle): Promise<void> {
    const progress = runProgressSchema.parse(await handle.query<RunProgress>('progress'));
    assert.equal(progress.state, 'completed');
    assert.deepEqual([progress.step, progress.totalSteps, progress.stage], [6, 6, 5]);
    const { searchAttributes } = await handle.describe();
    assert.deepEqual(searchAttributes.GauntletState, ['completed']);
    assert.deepEqual(searchAttributes.GauntletModel, ['tiny']);
    assert.deepEqual(searchAttributes.GauntletStage, [5]);
    const { events } = await host.client.workflow.getHandle(`${handle.workflowId}/stage-5`).fetchHistory();
    const summaries = (events ?? []).map((event) => String(event.userMetadata?.summary?.data ?? ''));
    assert.ok(summaries.some((summary) => summary.includes('stage 5 · step 2 · generator · generator · chains')));
  }

  it('what runs programs has as long as the default batches may take, every program up to the wall clock twice', async () => {
    const handle = await startRun(host.client, 'slow', ONE_STAGE);
    await handle.result();
    const { batch, limits, evaluation } = resolveConfig({ preset: 'custom' });
    const suites = 3 * evaluation.testProblems; // sampled, greedy, and those of tests
    const seconds = (programs: number): number => 2 * programs * limits.wallSeconds;
    const least: Record<string, number> = {
      executeSuite: seconds(batch.generator.problems * batch.generator.samples),
      selectChains: seconds(batch.discriminator.problems),
      judgeEvaluation: seconds(suites),
    };
    const found = new Set<string>();
    for (const id of ['slow', 'slow/stage-5']) {
      const { events } = await host.client.workflow.getHandle(id).fetchHistory();
      for (const { activityTaskScheduledEventAttributes: scheduled } of events ?? []) {
        const name = scheduled?.activityType?.name ?? '';
        if (least[name] === undefined) continue;
        found.add(name);
        const given = Number(scheduled?.startToCloseTimeout?.seconds ?? 0);
        assert.ok(
          given >= least[name],
          `${name} has ${given} s and may take ${least[name]} s: it would start over for ever`,
        );
      }
    }
    assert.deepEqual([...found].sort(), Object.keys(least).sort());
  });

  it('a stage of many steps continues as new and loses nothing', async () => {
    const schedule = { stages: [5], discriminatorSteps: 0, generatorSteps: 17, alternatingSteps: 0 };
    const result = (await (await startRun(host.client, 'long', { ...SMALL_RUN, schedule })).result()) as RunResult;
    const { events } = await host.client.workflow.getHandle('long/stage-5').fetchHistory();
    assert.ok(events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId);
    const other = await doubles();
    const expected = await runPipeline(createActivities(other.deps), 'long', { ...SMALL_RUN, schedule });
    assert.deepEqual(result.digests, expected.digests);
    await rm(other.folder, { recursive: true, force: true });
  });

  it('a bad configuration fails it at once, with one clear line', async () => {
    const handle = await startRun(host.client, 'bad', { ...SMALL_RUN, ppo: { clip: -1 } });
    await assert.rejects(handle.result(), (error: unknown) => {
      assert.ok(error instanceof WorkflowFailedError);
      const { message, type, nonRetryable } = error.cause as unknown as Record<string, unknown>;
      assert.match(String(message), /^ppo\.clip: [^\n]*$/);
      assert.deepEqual([type, nonRetryable], ['BAD_CONFIG', true]);
      return true;
    });
    assert.equal((await handle.query<RunProgress>('progress')).state, 'failed');
  });

  it('a fault of the sandbox is retried and changes nothing', async () => {
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
    await rm(other.folder, { recursive: true, force: true });
  });

  it('cancelling it reaches the engine and ends run and stage', async () => {
    let asked = false;
    const { generate } = world.engine;
    let calls = 0;
    let blocked = (): void => undefined;
    const waiting = new Promise<void>((resolve) => {
      blocked = resolve;
    });
    world.engine.generate = (rows, options) => {
      if (++calls < 30) return generate.call(world.engine, rows, options);
      blocked();
      return new Promise((_, reject) => {
        options.signal?.addEventListener('abort', () => {
          asked = true;
          reject(new Error('aborted'));
        });
      });
    };
    const handle = await startRun(host.client, 'cancelled', ONE_STAGE);
    await waiting;
    await handle.cancel();
    await assert.rejects(handle.result());
    assert.equal((await handle.describe()).status.name, 'CANCELLED');
    for (let i = 0; i < 100 && !asked; i++) await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(asked, 'the engine heard of it');
  });

  it('problems are solved by a checkpoint, with the discriminator’s tests', async () => {
    await (await startRun(host.client, 'teacher', ONE_STAGE)).result();
    const input = { checkpoint: { runId: 'teacher', name: 'best' }, split: 'validation', tests: true };
    const options = { taskQueue: TASK_QUEUES.orchestrator, workflowId: 'solve', args: [input] };
    const handle = await host.client.workflow.start('solveProblems', options);
    const result = (await handle.result()) as SolveProblemsResult;
    assert.equal(result.problems, 4);
    const solutions = await world.deps.store.getJson<{ code: string; passed: number; tests: number }[]>(
      result.solutions,
    );
    assert.equal(solutions.length, 4);
    assert.ok(solutions.every(({ code }) => code.startsWith('def solve(x):')));
    await record('solveProblems', handle);
  });

  it('a history in which another activity ran does not replay', async () => {
    const text = JSON.stringify(await recorded('trainStage'));
    const history = JSON.parse(text.replace('"executeSuite"', '"summariseEvaluation"')) as unknown;
    const replay = Worker.runReplayHistory(
      { workflowBundle: { codePath: await workflowBundle() } },
      history,
      'trainStage',
    );
    await assert.rejects(replay, { name: 'DeterminismViolationError' });
  });
});
