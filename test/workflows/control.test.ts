// Live control of a run on a real server: what people ask by update, signal or command.
import assert from 'node:assert/strict';
import { type WorkflowHandle, WorkflowUpdateFailedError } from '@temporalio/client';
import type { ControlMetrics, StepMetrics } from '../../core/schema/metrics.js';
import type { RunResult } from '../../core/schema/run.js';
import { steeredRuns } from './steered.js';

describe('a run under control', function () {
  this.timeout(120_000);
  const its = steeredRuns('control');
  const { start, progressOf, until, shown, records, recordAs, holdUpdate, holdWriting } = its;

  it('pauses between two steps, takes a change, goes on, records each with its step and time, and shows how to go on', async () => {
    const held = holdUpdate(1);
    const handle = await start();
    await held.reached;
    assert.match(await handle.executeUpdate<string, []>('pause'), /pauses after the step being done/);
    held.release();
    const paused = await until(handle, ({ state }) => state === 'paused');
    assert.equal(paused.step, 1);
    assert.deepEqual((await shown(handle)).slice(0, 2), [
      `**paused** · step 1 of ${paused.totalSteps}`,
      `go on with \`gauntlet resume ${handle.workflowId}\``,
    ]);
    const change = { ppo: { learningRate: 0.25 } };
    assert.match(await handle.executeUpdate<string, [object]>('change', { args: [change] }), /from the next step on/);
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal((await records(handle, 'step')).length, 1, 'no step while it is paused');
    await handle.executeUpdate<string, []>('resume');
    const result = (await handle.result()) as RunResult;
    const steps = (await records(handle, 'step')) as StepMetrics[];
    assert.deepEqual(
      steps.slice(1).map(({ learningRate }) => learningRate),
      [0.25, 0.25, 0.25, 0.25, 0.25],
    );
    const asked = (await records(handle, 'control')) as ControlMetrics[];
    assert.deepEqual(
      asked.map(({ action, step }) => [action, step]),
      [
        ['pause', 1],
        ['change', 1],
        ['resume', 1],
      ],
    );
    assert.ok(asked.every(({ at }) => Math.abs(Date.parse(at) - Date.now()) < 60_000));
    assert.equal(result.stopped, undefined);
    await recordAs('controlled', handle);
  });

  it('keeps what was asked across its stages', async () => {
    const held = holdUpdate(1);
    const handle = await start();
    await held.reached;
    await handle.executeUpdate<string, [object]>('change', { args: [{ schedule: { generatorSteps: 1 } }] });
    held.release();
    await handle.result();
    assert.deepEqual(
      ((await records(handle, 'step')) as StepMetrics[]).map(({ stage, phase }) => `${stage} ${phase}`),
      ['1 discriminator', '1 generator', '5 discriminator', '5 generator'],
    );
  });

  it('stops by a signal after the step at hand, and ends as a whole run does', async () => {
    const held = holdUpdate(2);
    const handle = await start();
    await held.reached;
    await handle.signal('stopRun');
    await until(handle, () => true); // the signal is in
    held.release();
    const result = (await handle.result()) as RunResult;
    assert.equal(result.stopped, 'asked to stop');
    assert.equal((await records(handle, 'step')).length, 2);
    assert.equal((await progressOf(handle)).state, 'completed');
  });

  async function refused(handle: WorkflowHandle, name: string, args: unknown[], message: RegExp): Promise<void> {
    const asked = handle.executeUpdate<string, [unknown]>(name, { args: args as [unknown] });
    await assert.rejects(asked, (error: unknown) => {
      assert.ok(error instanceof WorkflowUpdateFailedError);
      assert.match(String(error.cause?.message), message);
      return true;
    });
  }

  it('is steered to its very end: what is asked while its last checkpoint is written makes it go on', async () => {
    const held = holdWriting('checkpoints/checkpoint_stage_5_epoch_2/metadata.json');
    const handle = await start();
    await held.reached;
    await until(handle, ({ stage, step }) => stage === 5 && step === 6);
    const change = { schedule: { generatorSteps: 3 } };
    assert.match(await handle.executeUpdate<string, [object]>('change', { args: [change] }), /from the next step on/);
    held.release();
    await handle.result();
    const steps = (await records(handle, 'step')) as StepMetrics[];
    assert.deepEqual(
      steps.slice(-2).map(({ step, epoch, phase }) => [step, epoch, phase]),
      [
        [6, 2, 'generator'],
        [7, 3, 'generator'],
      ],
    );
    const asked = (await records(handle, 'control')) as ControlMetrics[];
    assert.deepEqual(
      asked.map(({ action, step }) => [action, step]),
      [['change', 6]],
    );
  });

  it('refuses what cannot be, with one line', async () => {
    const held = holdUpdate(1);
    const handle = await start();
    await held.reached;
    await refused(handle, 'change', [{ seed: 3 }], /^seed: cannot change while a run goes on/);
    await refused(handle, 'change', [{ ppo: { learningRate: 'x' } }], /^ppo\.learningRate: /);
    await refused(handle, 'change', ['faster'], /object of fields/);
    await refused(handle, 'resume', [], /not paused/);
    await refused(handle, 'decide', ['retry'], /no failure waits/);
    await refused(handle, 'decide', ['perhaps'], /one of retry, skip, abort/);
    held.release();
    await handle.result();
  });

  it('is not harmed by what nobody should send it', async () => {
    const held = holdUpdate(1);
    const handle = await start();
    await held.reached;
    const long = 'x'.repeat(1_500_000);
    for (const fields of [`{"${long}": 1}`, `{"ppo": {"__proto__": {"clip": "${long}"}}}`]) {
      const asked = handle.executeUpdate<string, [object]>('change', { args: [JSON.parse(fields) as object] });
      await assert.rejects(asked, (error: WorkflowUpdateFailedError) => /at most/.test(String(error.cause?.message)));
    }
    const stage = its.host.client.workflow.getHandle(`${handle.workflowId}/stage-1`);
    const seed = { kind: 'change', fields: { seed: 3 }, at: new Date().toISOString() };
    for (const given of ['nothing', null, [null], [seed]]) await handle.signal('carry', given);
    for (const given of [null, { stage: 'one' }, { state: 7 }, { best: 3 }])
      await handle.signal('stageProgress', given);
    for (const given of [null, {}, { requests: [null, null], decisions: [] }]) await stage.signal('control', given);
    held.release();
    await handle.result();
    assert.equal((await records(handle, 'step')).length, 6);
    assert.deepEqual(await records(handle, 'control'), []);
  });

  it('hears of nothing more once its last step is done, and goes by what it was asked before', async () => {
    const held = holdWriting('metrics/6-test.json');
    const handle = await start();
    await held.reached;
    const changes = [{ ppo: { learningRate: 0.25 } }];
    for (const [name, args] of Object.entries({ pause: [], resume: [], stop: [], change: changes }))
      await refused(handle, name, args, /^the last step is done: /);
    for (const signal of ['pauseRun', 'stopRun']) await handle.signal(signal);
    assert.equal((await progressOf(handle)).state, 'evaluating'); // the signals are in
    held.release();
    const result = (await handle.result()) as RunResult;
    assert.equal(result.stopped, undefined);
    assert.deepEqual(await records(handle, 'control'), []);
  });
});
