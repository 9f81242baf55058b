// `gauntlet resume` and `status` for runs that the server has forgotten, and for runs with an activity that a user paused on
// the server.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { describeExecution, heldActivities } from '../../cli/run/executions.js';
import { resumeRun } from '../../cli/run/resuming.js';
import { inputOf } from '../../cli/run/training.js';
import { GauntletError } from '../../core/base/errors.js';
import type { Decision } from '../../core/run/control.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { inProcess } from '../cli/support.js';
import { runPipeline } from '../support/runs.js';
import { bytesOf, RUN, undisturbed } from './disturbances.js';
import { runFixture } from './fixture.js';

describe('a run that the server has forgotten', () => {
  const f = runFixture('forgotten');

  const resume = (decision?: Decision) =>
    resumeRun(
      { client: f.host.client, ...(f.workers && { workers: f.workers }), store: f.world.deps.store },
      f.id,
      decision,
    );
  const command = (...argv: string[]) => inProcess(...argv, '--store', f.world.folder);
  /** A run of another server, which is left only in the store. */
  const elsewhere = (input: object = RUN) => runPipeline(createActivities(f.world.deps), f.id, input);

  it('starts again from the store with its id and input, and does not repeat completed work', async () => {
    const { repair, counter } = f.failUpdates(3);
    await assert.rejects(elsewhere({ ...RUN, budget: { tokens: 1e9 } }));
    repair();
    const status = await command('status', f.id);
    assert.match(
      status.out,
      new RegExp(
        `^${f.id}: only in the store \\(steps done: 2\\)\n.*npx gauntlet resume ${f.id} --watch --store ${f.world.folder}\n`,
      ),
    );
    assert.match((await command('status')).out, new RegExp(`${f.id}.*only in the store`));
    assert.match(
      (await command('pause', f.id)).err,
      /only in the store: continue it with npx gauntlet resume forgotten-\d+/,
    );
    await assert.rejects(resume('abort'), {
      code: 'BAD_INPUT',
      message: /needs no decision: the server does not know it/,
    });
    const { joined, said } = await resume();
    assert.equal(joined.how, 'started');
    assert.match(said, /^is not on this server: started again from the store.*\(steps done: 2\)$/);
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
    assert.equal(counter.calls, 5, 'two updates succeeded, one failed, two were left');
    assert.equal((await inputOf(f.host.client, f.id))?.budget?.tokens, 1e9);
  });

  it('applies recorded requests at their positions if it starts again', async () => {
    const change = { kind: 'change', fields: { ppo: { learningRate: 2e-4 } }, at: new Date().toISOString() } as const;
    const queue: (typeof change)[] = [];
    const { repair } = f.failUpdates(3);
    const hooks = {
      requests: { take: () => queue.shift() },
      onProgress: ({ step }: { step?: number }) => void (step === 1 && queue.push(change)),
    };
    await assert.rejects(runPipeline(createActivities(f.world.deps), f.id, RUN, hooks));
    repair();
    const controls = await f.controls();
    assert.equal(controls.length, 1);
    await resume();
    assert.deepEqual(await f.completed(), (await undisturbed(RUN, { 1: [change] })).bytes);
    assert.deepEqual(await f.controls(), controls);
  });

  it('shows its result on resume, and supports report, replay and fork, after it has completed', async () => {
    await elsewhere();
    const { joined, said } = await resume();
    assert.deepEqual([joined.how, joined.result?.runId], ['finished', f.id]);
    assert.match(said, /^has finished; nothing to do/);
    const resumed = await command('resume', f.id);
    assert.deepEqual([resumed.code, /best checkpoint checkpoint_stage_/.test(resumed.out)], [0, true]);
    assert.match((await command('status', f.id)).out, /only in the store \(steps done: 4\)\n[\s\S]*best checkpoint/);
    const report = await command('report', f.id);
    assert.deepEqual([report.code, report.out.endsWith(`runs/${f.id}/report.html\n`)], [0, true], report.err);
    const replay = await command('replay', f.id);
    assert.equal(replay.code, 0, replay.err);
    const fork = await command('fork', `${f.id}/checkpoint_stage_5_epoch_1`, `${f.id}-fork`);
    assert.equal(fork.code, 0, fork.err);
    await f.run(`${f.id}-fork`).result();
    assert.equal(Object.keys(await bytesOf(f.world.deps.store, `${f.id}-fork`)).length, 2);
  });

  it('is refused in one line if the store lacks its input or does not know it', async () => {
    await elsewhere();
    for (const path of ['result.json', 'input.json']) {
      for (const file of [path, `digests/${path}`]) await f.world.deps.store.removeRunFile(f.id, file);
    }
    await assert.rejects(resume(), {
      code: 'NOT_FOUND',
      message: new RegExp(`^run '${f.id}' was never prepared.*: npx gauntlet train ${f.id}$`),
    });
    f.next();
    await assert.rejects(resume(), {
      code: 'NOT_FOUND',
      message: /^no run 'forgotten-\d+' on this server or in \/.*; list runs with: npx gauntlet status$/,
    });
    assert.match((await command('status', f.id)).err, /no run 'forgotten-\d+' on this server.*\[NOT_FOUND\]/);
  });
});

describe('a run with an activity that is paused on the server', () => {
  const f = runFixture('held');

  it('is shown as paused by status, and continues after resume', async () => {
    const { applyUpdate } = f.world.engine;
    let isBroken = true;
    f.world.engine.applyUpdate = async (...args: Parameters<typeof applyUpdate>) => {
      if (isBroken) throw new GauntletError('STORE_FAULT', 'writing x: no space left (ENOSPC)');
      return applyUpdate.apply(f.world.engine, args);
    };
    await f.start(RUN as RunConfigInput);
    const { client, server } = f.host;
    const held = async () => {
      const execution = await describeExecution(client, f.id);
      return execution === undefined ? [] : heldActivities(client, execution);
    };
    while ((await held()).length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    const status = async () => (await inProcess('status', f.id, '--store', f.world.folder)).out;
    assert.match(
      await status(),
      /\ntrainPolicy is being retried \(attempt \d+\): STORE_FAULT: writing x: no space left \(ENOSPC\): check the free space/,
    );
    const [{ activity }] = (await held()) as [Awaited<ReturnType<typeof held>>[0]];
    assert.equal(activity?.type, 'trainPolicy');
    await client.workflowService.pauseActivity({
      namespace: server.namespace,
      id: activity.id,
      execution: { workflowId: f.id },
    });
    isBroken = false;
    assert.match(
      await status(),
      /\ntrainPolicy is paused on the server; continue with: npx gauntlet resume held-\d+ --store \/\S+$/m,
    );
    const { said } = await resumeRun({ client, workers: f.workers!, store: f.world.deps.store }, f.id);
    assert.equal(said, 'continues: trainPolicy was paused on the server');
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
  });
});
