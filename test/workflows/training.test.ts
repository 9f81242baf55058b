import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { createActivities } from '../../activities/index.js';
import { GauntletError } from '../../core/errors.js';
import { resolveConfig } from '../../core/presets.js';
import { TASK_QUEUES } from '../../core/queues.js';
import { type RunProgress, type RunResult, runProgressSchema, runResultSchema } from '../../core/schema/run.js';
import type { EvaluateCheckpointResult, SolveProblemsResult } from '../../method/types.js';
import type { RunningWorkers } from '../../workers/start.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { record } from './golden.js';
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

  it('completes with the digests and rates of a run in one process, and shows its progress', async () => {
    const handle = await startRun(host.client, 'whole', SMALL_RUN);
    const result = runResultSchema.parse(await handle.result());
    assert.equal(result.runId, 'whole');
    const other = await doubles();
    const expected = await runPipeline(createActivities(other.deps), 'whole', SMALL_RUN);
    assert.deepEqual({ ...result, trainingSeconds: 0 }, { ...expected, trainingSeconds: 0 });
    await rm(other.folder, { recursive: true, force: true });
    await showsProgress(handle);
  });

  async function showsProgress(handle: WorkflowHandle): Promise<void> {
    const progress = runProgressSchema.parse(await handle.query<RunProgress>('progress'));
    assert.equal(progress.state, 'completed');
    assert.deepEqual([progress.step, progress.totalSteps, progress.stage], [6, 6, 5]);
    const { searchAttributes } = await handle.describe();
    assert.deepEqual(searchAttributes.GauntletState, ['completed']);
    assert.deepEqual(searchAttributes.GauntletModel, ['tiny']);
    assert.deepEqual(searchAttributes.GauntletStage, [5]);
    const { events } = await handle.fetchHistory();
    const summaries = (events ?? []).map((event) => String(event.userMetadata?.summary?.data ?? ''));
    assert.ok(summaries.some((summary) => summary.includes('stage 5 · step 2 · generator')));
  }

  it('the time limit of an activity exceeds the longest possible batch of programs', async () => {
    const handle = await startRun(host.client, 'slow', ONE_STAGE);
    await handle.result();
    await record('whole', handle);
    const { batch, limits, evaluation } = resolveConfig({ preset: 'custom' });
    const suites = 3 * evaluation.testProblems; // sampled, greedy, and those of tests
    const seconds = (programs: number): number => 2 * programs * limits.wallSeconds;
    const least: Record<string, number> = {
      executeSuite: seconds(batch.generator.problems * batch.generator.samples),
      selectChains: seconds(batch.discriminator.problems),
      judgeEvaluation: seconds(suites),
    };
    const found = new Set<string>();
    const { events } = await handle.fetchHistory();
    for (const { activityTaskScheduledEventAttributes: scheduled } of events ?? []) {
      const name = scheduled?.activityType?.name ?? '';
      if (least[name] === undefined) continue;
      found.add(name);
      const limit = Number(scheduled?.startToCloseTimeout?.seconds ?? 0);
      assert.ok(limit >= least[name], `${name} has ${limit} s and may take ${least[name]} s`);
    }
    assert.deepEqual([...found].sort(), Object.keys(least).sort());
  });

  it('a bad configuration fails the run at once with one line', async () => {
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

  it('a sandbox fault is retried and does not change the result', async () => {
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

  it('a cancellation reaches the engine and ends the run', async () => {
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

  it('solveProblems solves problems with a checkpoint and with tests of the discriminator', async () => {
    await (await startRun(host.client, 'teacher', ONE_STAGE)).result();
    const input = { checkpoint: { runId: 'teacher', name: 'best' }, split: 'validation', tests: true };
    const options = { taskQueue: TASK_QUEUES.orchestrator, workflowId: 'solve', args: [input] };
    const handle = await host.client.workflow.start('solveProblems', options);
    const result = (await handle.result()) as SolveProblemsResult;
    assert.equal(result.problems, 4);
    const solutions = await world.deps.store.getJson(result.solutions);
    assert.equal(solutions.length, 4);
    assert.ok(solutions.every(({ code }) => code.startsWith('def solve(x):')));
    await record('solveProblems', handle);
  });

  it('evaluateCheckpoint measures a checkpoint on held-out problems', async () => {
    await (await startRun(host.client, 'measured', ONE_STAGE)).result();
    const input = { checkpoint: { runId: 'measured', name: 'best' }, samples: 2 };
    const options = { taskQueue: TASK_QUEUES.orchestrator, workflowId: 'evaluate', args: [input] };
    const handle = await host.client.workflow.start('evaluateCheckpoint', options);
    const result = (await handle.result()) as EvaluateCheckpointResult;
    const results = await world.deps.store.getJson(result.results);
    assert.deepEqual([result.problems, results.length], [6, 6]);
    assert.equal(result.metrics['pass@1'], results.reduce((sum, { solved }) => sum + solved, 0) / 12);
    await record('evaluateCheckpoint', handle);
  });
});
