// Control of a running run by updates, on a real server.
import assert from 'node:assert/strict';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { RunResult } from '../../core/schema/run.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { RUN, runFixture, TWO_STAGES } from './fixture.js';
import { record } from './golden.js';

describe('control of a running run', function () {
  this.timeout(120_000);
  const f = runFixture('control');

  it('pause holds the next step, change applies to it, resume continues, and each request is recorded', async () => {
    const hold = f.holdUpdate(1);
    const handle = await f.start();
    await hold.reached;
    assert.equal(await f.update('pause'), 'pauses after the current step (steps done: 0)');
    hold.release();
    const paused = await f.until('paused');
    assert.equal(paused.step, 1);
    assert.deepEqual((await f.details()).slice(0, 2), [
      `**paused** · step 1 of ${paused.totalSteps}`,
      `Continue with \`gauntlet resume ${f.id}\`.`,
    ]);
    const change = { ppo: { learningRate: 0.25 } };
    assert.equal(await f.update('change', change), 'takes effect from the next step on (steps done: 1)');
    while ((await f.controls()).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal((await f.steps()).length, 1, 'no step runs during the pause');
    assert.equal(await f.update('resume'), 'continues (steps done: 1)');
    const result = (await handle.result()) as RunResult;
    assert.deepEqual(
      (await f.steps()).map(({ learningRate }) => learningRate),
      [1e-4, 0.25, 0.25, 0.25],
    );
    assert.deepEqual(await f.actions(), [
      ['pause', 1],
      ['change', 1],
      ['resume', 1],
    ]);
    const records = await f.controls();
    assert.ok(records.every(({ at }) => Math.abs(Date.parse(at) - Date.now()) < 60_000));
    const expected = await f.undisturbed(RUN, { 1: [{ kind: 'change', fields: change, at: records[1]!.at }] });
    assert.deepEqual(result.digests, expected.result.digests);
    assert.equal(result.stopped, undefined);
    await record('steered', handle);
  });

  it('a pause waits for a pending evaluation, so that a paused run has all its checkpoints', async () => {
    const { repair } = f.failWrite('metrics/1-validation.json'); // keeps the evaluation pending
    const hold = f.holdUpdate(2);
    await f.start();
    await hold.reached; // the step runs beside the evaluation
    await f.until('waiting');
    await f.update('pause');
    hold.release();
    await f.until(({ step }) => step === 2);
    assert.equal((await f.progressOf(f.run())).state, 'waiting');
    repair();
    await f.update('decide', 'retry');
    assert.equal((await f.until('paused')).step, 2);
    assert.equal((await listCheckpoints(f.world.deps.store, f.id)).at(-1)!.name, 'checkpoint_stage_5_epoch_1');
    await f.update('resume');
    assert.deepEqual(await f.completed(), (await f.undisturbed()).bytes);
  });

  it('a change applies to later stages too', async () => {
    const hold = f.holdUpdate(1);
    const handle = await f.start(TWO_STAGES);
    await hold.reached;
    await f.update('change', { schedule: { discriminatorSteps: 0, generatorSteps: 2 } });
    hold.release();
    await handle.result();
    assert.deepEqual(
      (await f.steps()).map(({ stage, phase }) => `${stage} ${phase}`),
      ['1 discriminator', '1 generator', '1 generator', '5 generator', '5 generator'],
    );
  });

  it('stop ends the run after the current step, with an evaluation and a result', async () => {
    const hold = f.holdUpdate(2);
    const handle = await f.start();
    await hold.reached;
    assert.equal(await f.update('stop'), 'stops after the current step (steps done: 1)');
    hold.release();
    const result = (await handle.result()) as RunResult;
    assert.equal(result.stopped, 'stop requested');
    assert.equal((await f.steps()).length, 2);
    assert.equal((await f.progressOf(handle)).state, 'completed');
    assert.deepEqual(await f.actions(), [['stop', 2]]);
  });

  it('stop ends a paused run', async () => {
    const hold = f.holdUpdate(1);
    const handle = await f.start();
    await hold.reached;
    await f.update('pause');
    hold.release();
    await f.until('paused');
    await f.update('stop');
    assert.equal(((await handle.result()) as RunResult).stopped, 'stop requested');
  });

  async function refused(update: string, args: unknown[], message: RegExp): Promise<void> {
    await assert.rejects(f.update(update, ...args), (error: unknown) => {
      assert.ok(error instanceof WorkflowUpdateFailedError);
      assert.match(String(error.cause?.message), message);
      return true;
    });
  }

  it('a change during the last evaluation continues the training', async () => {
    const hold = f.holdWrite('checkpoints/checkpoint_stage_5_epoch_2/metadata.json');
    const handle = await f.start();
    await hold.reached;
    await f.until(({ step }) => step === 4);
    await f.update('change', { schedule: { generatorSteps: 4 } });
    hold.release();
    await handle.result();
    assert.deepEqual(
      (await f.steps()).slice(-2).map(({ step, epoch }) => [step, epoch]),
      [
        [4, 2],
        [5, 3],
      ],
    );
    assert.deepEqual(await f.actions(), [['change', 4]]);
  });

  it('a run refuses invalid and oversized requests with one line', async () => {
    const hold = f.holdUpdate(1);
    const handle = await f.start();
    await hold.reached;
    await refused('change', [{ seed: 3 }], /^seed: cannot change during a run/);
    await refused('change', [{ ppo: { learningRate: 'x' } }], /^ppo\.learningRate: /);
    await refused('change', ['faster'], /object of fields/);
    await refused('resume', [], /^the run is not paused$/);
    await refused('decide', ['retry'], /^no failure needs a decision$/);
    await refused('decide', ['perhaps'], /one of retry, skip, abort/);
    const long = 'x'.repeat(1_500_000);
    for (const fields of [`{"${long}": 1}`, `{"ppo": {"__proto__": {"clip": "${long}"}}}`]) {
      await refused('change', [JSON.parse(fields)], /^a change can have at most 8192 characters/);
    }
    await handle.signal('unknown', null);
    hold.release();
    await handle.result();
    assert.equal((await f.steps()).length, 4);
    assert.deepEqual(await f.controls(), []);
  });

  it('a run refuses all requests after its last step', async () => {
    const hold = f.holdWrite('metrics/4-test.json');
    const handle = await f.start();
    await hold.reached;
    const changes = [{ ppo: { learningRate: 0.25 } }];
    for (const [name, args] of Object.entries({ pause: [], resume: [], stop: [], change: changes })) {
      await refused(name, args, /^the last step is done: /);
    }
    hold.release();
    assert.equal(((await handle.result()) as RunResult).stopped, undefined);
    assert.deepEqual(await f.controls(), []);
  });
});
