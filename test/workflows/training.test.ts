import assert from 'node:assert/strict';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { createActivities } from '../../activities/index.js';
import { resolveConfig } from '../../core/config/presets.js';
import { type RunProgress, runProgressSchema, runResultSchema } from '../../core/schema/run.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import type { RunningWorkers } from '../../workers/start.js';
import type { EvaluateCheckpointResult } from '../../workflows/evaluateCheckpoint.js';
import type { SolveProblemsResult } from '../../workflows/solveProblems.js';
import { type Doubles, doubles, memoryDoubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { record } from './golden.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

const ONE_STAGE = {
  ...SMALL_RUN,
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 0 },
};

describe('training as a workflow', () => {
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers;

  let handle: WorkflowHandle;

  before(async function () {
    needTemporal(this);
    host = await startServer();
    world = await doubles();
    workers = await workersOver(host.server, world);
    handle = await startRun(host.client, 'whole', ONE_STAGE);
    await handle.result();
  });
  after(async () => {
    await workers?.shutdown();
    await host?.close();
  });

  it('ends with the digests and rates of a run in one process', async () => {
    const result = runResultSchema.parse(await handle.result());
    assert.equal(result.runId, 'whole');
    const other = await memoryDoubles();
    const expected = await runPipeline(createActivities(other.deps), 'whole', ONE_STAGE);
    assert.deepEqual({ ...result, trainingSeconds: 0 }, { ...expected, trainingSeconds: 0 });
    await record('whole', handle);
  });

  it('shows its progress', async () => {
    const progress = runProgressSchema.parse(await handle.query<RunProgress>('progress'));
    assert.equal(progress.state, 'completed');
    assert.deepEqual([progress.step, progress.totalSteps, progress.stage], [2, 2, 5]);
    const { searchAttributes } = await handle.describe();
    assert.deepEqual(searchAttributes.GauntletState, ['completed']);
    assert.deepEqual(searchAttributes.GauntletModel, ['tiny']);
    assert.deepEqual(searchAttributes.GauntletStage, [5]);
    const { events } = await handle.fetchHistory();
    const summaries = (events ?? []).map((event) => String(event.userMetadata?.summary?.data ?? ''));
    assert.ok(summaries.some((summary) => summary.includes('stage 5 · step 2 · generator')));
  });

  it('gives an activity more time than the longest batch of programs can take', async () => {
    const { batch, limits, evaluation } = resolveConfig({ preset: 'custom' });
    const suites = 3 * evaluation.testProblems; // sampled programs, greedy programs, and tests
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

  it('fails at once and with one line for a bad configuration', async () => {
    const bad = await startRun(host.client, 'bad', { ...SMALL_RUN, ppo: { clip: -1 } });
    await assert.rejects(bad.result(), (error: unknown) => {
      assert.ok(error instanceof WorkflowFailedError);
      const { message, type, nonRetryable } = error.cause as unknown as Record<string, unknown>;
      assert.match(String(message), /^ppo\.clip: [^\n]*$/);
      assert.deepEqual([type, nonRetryable], ['BAD_CONFIG', true]);
      return true;
    });
    assert.equal((await bad.query<RunProgress>('progress')).state, 'failed');
  });

  it('solves problems with a checkpoint and with tests of the discriminator (solveProblems)', async () => {
    const input = { checkpoint: { runId: 'whole', name: 'best' }, split: 'validation', tests: true };
    const options = { taskQueue: TASK_QUEUES.orchestrator, workflowId: 'solve', args: [input] };
    const solving = await host.client.workflow.start('solveProblems', options);
    const result = (await solving.result()) as SolveProblemsResult;
    assert.equal(result.problems, 4);
    const solutions = await world.deps.store.getJson(result.solutions);
    assert.equal(solutions.length, 4);
    assert.ok(solutions.every(({ code }) => code.startsWith('def solve(x):')));
    await record('solveProblems', solving);
  });

  it('measures a checkpoint on held-out problems (evaluateCheckpoint)', async () => {
    const input = { checkpoint: { runId: 'whole', name: 'best' }, samples: 2 };
    const options = { taskQueue: TASK_QUEUES.orchestrator, workflowId: 'evaluate', args: [input] };
    const evaluating = await host.client.workflow.start('evaluateCheckpoint', options);
    const result = (await evaluating.result()) as EvaluateCheckpointResult;
    const results = await world.deps.store.getJson(result.results);
    assert.deepEqual([result.problems, results.length], [6, 6]);
    assert.equal(result.metrics['pass@1'], results.reduce((sum, { solved }) => sum + solved, 0) / 12);
    await record('evaluateCheckpoint', evaluating);
  });
});
