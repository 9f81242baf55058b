// Users' requests during a run wait in its queue and take effect between two steps. test/activities/control.test.ts tests
// what each of them changes, and control.test.ts tests them on a server.
import assert from 'node:assert/strict';
import { listCheckpoints } from '../../store/checkpoints.js';
import { TWO_STAGES, undisturbed } from './disturbances.js';
import { localFixture } from './localRun.js';

describe('control requests during a run', () => {
  const f = localFixture();

  it('let a pause wait for a pending evaluation, so that a paused run has all its checkpoints', async () => {
    const { repair } = f.failWrite('metrics/1-validation.json'); // keeps the evaluation pending
    const hold = f.holdUpdate(2);
    const handle = f.start();
    await hold.reached; // the step runs at the same time as the evaluation
    await f.until('waiting');
    await f.update('pause');
    hold.release();
    await f.until(({ step }) => step === 2);
    assert.equal(handle.progress.state, 'waiting');
    repair();
    await f.update('decide', 'retry');
    assert.equal((await f.until('paused')).step, 2);
    assert.equal((await listCheckpoints(f.world.deps.store, 'run')).at(-1)!.name, 'checkpoint_stage_5_epoch_1');
    await f.update('resume');
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
  });

  it('change later stages too', async () => {
    const hold = f.holdUpdate(1);
    const handle = f.start(TWO_STAGES);
    await hold.reached;
    await f.update('change', { schedule: { discriminatorSteps: 0, generatorSteps: 2 } });
    hold.release();
    await handle.result();
    assert.deepEqual(
      (await f.steps()).map(({ stage, phase }) => `${stage} ${phase}`),
      ['1 discriminator', '1 generator', '1 generator', '5 generator', '5 generator'],
    );
  });

  it('stop a paused run', async () => {
    const hold = f.holdUpdate(1);
    const handle = f.start();
    await hold.reached;
    await f.update('pause');
    hold.release();
    await f.until('paused');
    await f.update('stop');
    assert.equal((await handle.result()).stopped, 'stop requested');
    assert.equal((await f.steps()).length, 1);
  });

  it('continue the training if they arrive during the last evaluation', async () => {
    const hold = f.holdWrite('checkpoints/checkpoint_stage_5_epoch_2/metadata.json');
    const handle = f.start();
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

  it('are refused with one line if they are invalid or too long', async () => {
    const hold = f.holdUpdate(1);
    const handle = f.start();
    await assert.rejects(f.update('change', {}), { message: 'the run is still preparing: try again' });
    await hold.reached;
    const refused = (kind: 'change' | 'resume' | 'decide', argument: unknown, message: RegExp) =>
      assert.rejects(f.update(kind, argument), (error: Error) => message.test(error.message));
    await refused('change', { seed: 3 }, /^seed: cannot change during a run[^\n]*$/);
    await refused('change', { ppo: { learningRate: 'x' } }, /^ppo\.learningRate: [^\n]*$/);
    await refused('change', 'faster', /object of fields/);
    await refused('resume', undefined, /^the run is not paused$/);
    await refused('decide', 'retry', /^no failure needs a decision$/);
    await refused('decide', 'perhaps', /one of retry, skip, abort/);
    const long = 'x'.repeat(10_000);
    for (const fields of [`{"${long}": 1}`, `{"ppo": {"__proto__": {"clip": "${long}"}}}`]) {
      await refused('change', JSON.parse(fields), /^a change can have at most 8192 characters/);
    }
    hold.release();
    await handle.result();
    assert.equal((await f.steps()).length, 4);
    assert.deepEqual(await f.controls(), []);
  });

  it('are refused after the last step', async () => {
    const hold = f.holdWrite('metrics/4-test.json');
    const handle = f.start();
    await hold.reached;
    const change = { ppo: { learningRate: 0.25 } };
    for (const [kind, fields] of [['pause'], ['resume'], ['stop'], ['change', change]] as const) {
      await assert.rejects(f.update(kind, fields), /^GauntletError: the last step is done: /);
    }
    hold.release();
    assert.equal((await handle.result()).stopped, undefined);
    assert.deepEqual(await f.controls(), []);
  });
});
