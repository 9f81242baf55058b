// Runs that a server has forgotten, that rest on it without knowing it, or that ended before they came to what was asked
// of them: `gauntlet resume` and `status` on a real server.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { createActivities } from '../../activities/index.js';
import { carriedOver } from '../../cli/carried.js';
import { heldUp, openExecutions, unpause } from '../../cli/executions.js';
import { resumeRun } from '../../cli/resuming.js';
import type { Decision, Request } from '../../core/control.js';
import { GauntletError } from '../../core/errors.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import type { ControlMetrics } from '../../core/schema/metrics.js';
import { runResultSchema } from '../../core/schema/run.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { readControls } from '../../store/runs.js';
import type { RunningWorkers } from '../../workers/start.js';
import { type PipelineHooks, runPipeline } from '../../workflows/pipeline.js';
import { inProcess } from '../cli/support.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { findable, needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

/** One engine update a step, and little else. */
const RUN: RunConfigInput = {
  ...SMALL_RUN,
  stages: [5],
  ppo: { ...SMALL_RUN.ppo, epochs: 1, learningRate: 1e-4, minibatch: 1000, warmupSteps: 0 },
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 3, alternatingSteps: 0 },
  evaluation: { problems: 2, testProblems: 2 },
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('a run left behind', function () {
  this.timeout(120_000);
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers | undefined;
  let id = '';
  let count = 0;
  let letGo = (): void => undefined;

  before(async function () {
    needTemporal(this);
    host = findable(await startServer());
  });
  after(() => host?.close());
  beforeEach(async () => {
    id = `left-${++count}`;
    world = await doubles();
  });
  afterEach(async () => {
    letGo();
    await workers?.shutdown();
    workers = undefined;
    await rm(world.folder, { recursive: true, force: true });
  });

  const resume = (decision?: Decision) =>
    resumeRun({ client: host.client, ...(workers ? { workers } : {}), store: world.deps.store }, id, decision);
  const command = (...argv: string[]) => inProcess(...argv, '--store', world.folder);
  const serve = async (): Promise<void> => {
    workers = await workersOver(host.server, world);
  };
  const run = (): WorkflowHandle => host.client.workflow.getHandle(id);

  async function bytesOf({ deps }: Doubles, runId: string): Promise<unknown[]> {
    return (await listCheckpoints(deps.store, runId)).map(({ name, files, score }) => [name, files, score]);
  }
  async function undisturbed(hooks: PipelineHooks = {}): Promise<unknown[]> {
    const other = await doubles();
    await runPipeline(createActivities(other.deps), 'other', RUN, hooks);
    const bytes = await bytesOf(other, 'other');
    await rm(other.folder, { recursive: true, force: true });
    return bytes;
  }
  async function completed(): Promise<unknown[]> {
    runResultSchema.parse(await run().result());
    return bytesOf(world, id);
  }
  /** Updates from the `n`th on wait until they are released. */
  function heldFrom(n: number): { reached: Promise<void>; release(): void; calls(): number } {
    const { applyUpdate } = world.engine;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    letGo = release;
    let calls = 0;
    let reach = (): void => undefined;
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      if (++calls >= n) {
        reach();
        await gate;
      }
      return applyUpdate.apply(world.engine, given);
    };
    return { reached, release, calls: () => calls };
  }
  it('that the server has forgotten starts again from the store, under its id, and nothing finished is done twice', async () => {
    const { applyUpdate } = world.engine;
    let updates = 0;
    world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      if (++updates === 3) throw new GauntletError('BAD_ADAPTER', 'the disk ate it');
      return applyUpdate.apply(world.engine, given);
    };
    // where it was is gone: only the store is left of it
    await assert.rejects(runPipeline(createActivities(world.deps), id, { ...RUN, budget: { tokens: 1e9 } }));

    const status = await command('status', id);
    assert.match(
      status.out,
      new RegExp(`^${id}: only in the store \\(2 steps done\\)\ncontinue with: npx gauntlet resume`),
    );
    assert.match((await command('status')).out, new RegExp(`${id}.*only in the store`));
    assert.match((await command('pause', id)).err, /only in the store: npx gauntlet resume left-\d+ starts it again/);
    await assert.rejects(resume('abort'), {
      code: 'BAD_INPUT',
      message: /waits for no decision: the server no longer/,
    });
    await serve();
    const { joined, said } = await resume();
    assert.equal(joined.how, 'started');
    assert.equal(said, 'goes on: the server no longer knows it; started again from the store: 2 steps already done');
    assert.deepEqual(await completed(), await undisturbed());
    assert.equal(updates, 5, 'two that were done, one that failed, two that were left');
    const { events } = await run().fetchHistory();
    const [payload] = events![0]!.workflowExecutionStartedEventAttributes!.input!.payloads!;
    const { budget } = JSON.parse(Buffer.from(payload!.data!).toString('utf8')) as RunConfigInput;
    assert.equal(budget?.tokens, 1e9, 'budgets hold');
  });

  it('and had finished: is told as such; report, replay and fork need no server that knows it', async () => {
    await runPipeline(createActivities(world.deps), id, RUN);
    const { joined, said } = await resume();
    assert.deepEqual([joined.how, joined.result?.runId], ['finished', id]);
    assert.equal(said, 'had finished; nothing to do (the server no longer knows it)');
    const resumed = await command('resume', id);
    assert.deepEqual([resumed.code, /best checkpoint checkpoint_stage_/.test(resumed.out)], [0, true]);
    assert.match((await command('status', id)).out, /only in the store \(4 steps done\)\n[\s\S]*best checkpoint/);
    const report = await command('report', id);
    assert.deepEqual([report.code, report.out.endsWith(`runs/${id}/report.html\n`)], [0, true], report.err);
    const replay = await command('replay', id);
    assert.deepEqual([replay.code, /all as recorded\n$/.test(replay.out)], [0, true], replay.err);
    await serve();
    const fork = await command('fork', `${id}/checkpoint_stage_5_epoch_1`, `${id}-fork`);
    assert.equal(fork.code, 0, fork.err);
    await host.client.workflow.getHandle(`${id}-fork`).result();
    assert.deepEqual((await bytesOf(world, `${id}-fork`)).length, 2);
  });

  it('of which the store has not what it was started with is refused with one line, as is one that is nowhere', async () => {
    await runPipeline(createActivities(world.deps), id, RUN);
    for (const path of ['result.json', 'input.json'])
      for (const file of [path, `digests/${path}`]) await world.deps.store.removeRunFile(id, file);
    await assert.rejects(resume(), {
      code: 'NOT_FOUND',
      message: `run '${id}': the server no longer knows it, and the store has not what it was started with; start it with its configuration again: npx gauntlet train ${id}`,
    });
    id = 'nowhere';
    await assert.rejects(resume(), {
      code: 'NOT_FOUND',
      message: /^no run 'nowhere' on this server, nor in \/.*; list them/,
    });
    assert.match((await command('status', id)).err, /no run 'nowhere' on this server, nor in \/.*\[NOT_FOUND\]/);
  });

  it('with a change that it had accepted and not come to: the next execution does it, also the one after that', async () => {
    const hold = heldFrom(2);
    await serve();
    await startRun(host.client, id, RUN);
    await hold.reached;
    const fields = { ppo: { learningRate: 2e-4 } };
    await run().executeUpdate<string, [object]>('change', { args: [fields] });
    await run().signal('pauseRun');
    for (let execution = 1; execution <= 2; execution++) {
      await run().terminate('by hand');
      await run()
        .result()
        .catch(() => undefined);
      const { joined, said } = await resume();
      assert.equal(joined.how, 'restarted');
      assert.match(said, /; what it had accepted and not come to follows after step 2: set ppo\.learningRate=0\.0002$/);
    }
    hold.release();
    const bytes = await completed();
    const asked = await readControls(world.deps.store, id);
    assert.deepEqual(
      asked.map(({ action, step }) => [action, step]),
      [['change', 2]],
    );
    const requests: Request[] = [{ kind: 'change', fields, at: asked[0]!.at, after: 2 }];
    assert.deepEqual(bytes, await undisturbed({ requests: () => requests }));
    assert.notDeepEqual(bytes, await undisturbed());
  });

  it('with an activity that somebody paused on the server: status says so, and resume ends the pause', async () => {
    const { applyUpdate } = world.engine;
    let failing = true;
    world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      if (failing) throw new GauntletError('STORE_FAULT', 'writing x: no space left (ENOSPC)');
      return applyUpdate.apply(world.engine, given);
    };
    await serve();
    await startRun(host.client, id, RUN);
    const held = async () => heldUp(host.client, await openExecutions(host.client, id));
    while ((await held()).length === 0) await pause(50);
    assert.match(
      (await command('status', id)).out,
      /\ntrainPolicy is being tried again \(attempt \d+\): STORE_FAULT: writing x: no space left \(ENOSPC\): check free space/,
    );
    const [{ execution, activity }] = (await held()) as [Awaited<ReturnType<typeof held>>[0]];
    assert.deepEqual([execution, activity?.type], [`${id}/stage-5`, 'trainPolicy']);
    const { namespace } = host.server;
    await host.client.workflowService.pauseActivity({
      ...{ namespace, id: activity!.id },
      execution: { workflowId: execution },
    });
    failing = false;
    assert.match(
      (await command('status', id)).out,
      /\ntrainPolicy is paused on the server; go on with: npx gauntlet resume left-\d+$/m,
    );
    assert.equal((await resume()).said, 'goes on: trainPolicy had been paused on the server');
    assert.deepEqual(await completed(), await undisturbed());
  });
});

describe('what a run left behind', () => {
  it('rests as a whole on a server that can pause it: the pause is ended, or it is said who has to', async () => {
    const asked: object[] = [];
    const server = (unpauseWorkflowExecution: (request: object) => Promise<void>) =>
      ({
        options: { namespace: 'n', identity: 'me' },
        workflowService: { unpauseWorkflowExecution },
      }) as unknown as Client;
    const held = { execution: 'x', paused: true, attempt: 1 };
    await unpause(
      server(async (request) => void asked.push(request)),
      held,
    );
    assert.deepEqual(asked, [{ namespace: 'n', identity: 'me', workflowId: 'x', reason: 'gauntlet resume' }]);
    const without = server(() => Promise.reject(Object.assign(new Error('unknown method'), { code: 12 })));
    await assert.rejects(unpause(without, held), { code: 'BAD_INPUT', message: /'x' is paused on a server that/ });
  });

  it('what was recorded is told from what was not by order, kind, fields and time; pauses are not made again', () => {
    const at = (second: number): string => new Date(1e12 + 1000 * second).toISOString();
    const change = (lr: number, second: number) => ({ kind: 'change' as const, fields: { lr }, at: at(second) });
    const recorded = (action: 'change' | 'pause' | 'stop', step: number, second: number, lr = 0) =>
      ({
        kind: 'control',
        ...{ action, step, index: 0, at: at(second) },
        ...(action === 'change' && { fields: { lr } }),
      }) as ControlMetrics;
    const early = recorded('change', 1, -500, 1); // of an earlier execution
    const open = (requests: Request[], controls: ControlMetrics[]) =>
      carriedOver(requests, controls, 7).map(({ kind, after }) => [kind, after]);
    assert.deepEqual(open([change(1, 0), change(2, 1)], [early]), [
      ['change', 8],
      ['change', 8],
    ]);
    assert.deepEqual(open([change(1, 0), change(1, 1)], [early, recorded('change', 7, 0, 1)]), [['change', 8]]);
    assert.deepEqual(open([change(1, 0)], [recorded('change', 7, 1, 1)]), []);
    assert.deepEqual(
      open(
        [
          { kind: 'pause', at: at(0) },
          { kind: 'stop', at: at(1) },
        ],
        [],
      ),
      [['stop', 8]],
    );
    const paused: Request[] = [{ kind: 'pause', at: at(0) }, change(3, 60), { kind: 'resume', at: at(61) }];
    assert.deepEqual(open(paused, [recorded('pause', 7, 0)]), [['change', 7]]);
  });
});
