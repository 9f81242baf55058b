// A run in this process that continues as new before every step. Its state is passed on as JSON, as on a server, where
// continueAsNew.test.ts runs it.
import assert from 'node:assert/strict';
import type { Request } from '../../core/run/control.js';
import { readRun } from '../../store/runs.js';
import { bytesOf, RUN, TWO_STAGES, undisturbed } from './disturbances.js';
import { localFixture } from './localRun.js';

const CONTINUES = { continues: true };

describe('a run that continues as new before every step', () => {
  const f = localFixture();

  it('ends with the same bytes as a run with one execution, and keeps its progress', async () => {
    const config = {
      ...TWO_STAGES,
      schedule: { ...TWO_STAGES.schedule, generatorSteps: 2 },
      ppo: { ...TWO_STAGES.ppo, learningRate: 0.05 }, // the last checkpoint becomes the best
    };
    const handle = f.start(config, CONTINUES);
    const result = await handle.result();
    const expected = await undisturbed(config);
    assert.equal(result.best, 'checkpoint_stage_5_epoch_2', 'no evaluation is lost');
    assert.deepEqual({ ...result, trainingSeconds: 0 }, { ...expected.result, trainingSeconds: 0, runId: 'run' });
    assert.deepEqual(await f.completed(), expected.bytes);
    assert.equal(handle.executions, 9, 'the preparation, six steps, and the ends of two stages');
    const { state, step, totalSteps, stage } = handle.progress;
    assert.deepEqual([state, step, totalSteps, stage], ['completed', 6, 6, 5]);
  });

  it('keeps a change and a pause that arrive right before it continues as new', async () => {
    const hold = f.holdUpdate(2);
    const handle = f.start(RUN, CONTINUES);
    await hold.reached;
    const before = handle.executions;
    const change = { ppo: { learningRate: 0.25 } };
    await f.update('change', change);
    await f.update('pause');
    hold.release();
    await f.until('paused');
    assert.equal(handle.executions, before + 1, 'the next execution is paused');
    await assert.rejects(f.update('change', { seed: 1 }), /seed: cannot/);
    await f.update('resume');
    await handle.result();
    const controls = await f.controls();
    assert.deepEqual(
      controls.map(({ action, step, index }) => [action, step, index]),
      [
        ['change', 2, 0],
        ['pause', 2, 1],
        ['resume', 2, 2],
      ],
    );
    const request: Request = { kind: 'change', fields: change, at: controls[0]!.at };
    assert.deepEqual(await f.completed(), (await undisturbed(RUN, { 2: [request] })).bytes);
  });

  it('applies every accepted change once, whenever it arrives', async () => {
    const accepted: number[] = [];
    let sent = 0;
    const send = async (): Promise<void> => {
      const rate = 1e-4 + sent++ * 1e-6;
      await f.update('change', { ppo: { learningRate: rate } }).then(
        () => accepted.push(rate),
        () => undefined, // the run is in preparation, or its last step has ended
      );
    };
    f.beforeUpdate(send);
    f.beforeWrite(async (path) => {
      if (!path.includes('control')) await send(); // at any point of a step, an evaluation or a checkpoint
    });
    const handle = f.start({ ...RUN, schedule: { ...RUN.schedule, generatorSteps: 5 } }, CONTINUES);
    await handle.result();
    const rates = (await f.controls()).map(({ fields }) => (fields as typeof RUN).ppo.learningRate);
    assert.ok(accepted.length > handle.executions && accepted.length < sent, `${accepted.length} of ${sent} changes`);
    assert.deepEqual(rates, accepted);
  });

  it('keeps its budget, and can be forked', async () => {
    const limited = { ...TWO_STAGES, budget: { tokens: 12 } };
    const result = await f.start(limited, CONTINUES).result();
    const whole = await undisturbed(limited);
    assert.match(result.stopped ?? '', /budget of 12 tokens/);
    assert.equal(result.stopped, whole.result.stopped);
    const { store } = f.world.deps;
    assert.deepEqual(await bytesOf(store, 'run'), whole.bytes);
    const checkpoint = 'checkpoint_stage_1_epoch_1';
    await f.start({ ...TWO_STAGES, start: { run: 'run', checkpoint, schedule: 'rest' } }, CONTINUES, 'fork').result();
    assert.equal((await readRun(store, 'fork')).origin?.checkpoint, checkpoint);
    assert.equal((await f.steps('fork')).length, 3);
  });
});
