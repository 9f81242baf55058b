// A failure that no retry fixes: the run waits for a user's decision, or fails. These runs are in this process and use the
// decisions of the workflow; failing.test.ts tests one of each on a server.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { GauntletError } from '../../core/base/errors.js';
import type { RunProgress } from '../../core/schema/run.js';
import { RUN, undisturbed } from './disturbances.js';
import { localFixture } from './localRun.js';

const FAILS = { ...RUN, failure: { onFailure: 'fail' } };

describe('the decision about an activity that fails for good', () => {
  const f = localFixture();
  const decide = (decision: string): Promise<void> => f.update('decide', decision);

  it('is needed again if the activity fails again', async () => {
    const { counter } = f.failUpdates(1, 3);
    const handle = f.start();
    for (const call of [1, 2]) {
      await f.until(({ state }) => state === 'waiting' && counter.calls === call);
      await decide('retry');
      // a decision holds for one failure only
      await assert.rejects(decide('retry'), { code: 'BAD_INPUT', message: 'no failure needs a decision' });
    }
    await handle.result();
    assert.equal(counter.calls, 6, 'four updates succeeded, two failed');
  });

  it('is needed twice, one after the other, if an evaluation and the concurrent step fail', async () => {
    const { repair: repairStep } = f.failUpdates(2);
    const { repair: repairEvaluation } = f.failWrite('metrics/1-validation.json');
    const repairs = { trainPolicy: repairStep, judgeEvaluation: repairEvaluation };
    f.start();
    const failed: string[] = [];
    while (failed.length < 2) {
      const isNext = ({ state, failure }: RunProgress) => state === 'waiting' && !failed.includes(failure!.activity);
      const { activity, inStep } = (await f.until(isNext)).failure!;
      assert.equal(inStep, activity === 'trainPolicy');
      failed.push(activity);
      repairs[activity as keyof typeof repairs]();
      await decide('retry');
    }
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
    assert.deepEqual(failed.sort(), ['judgeEvaluation', 'trainPolicy']);
  });

  it('is needed once if an evaluation and the concurrent step fail for the same reason', async () => {
    const { repair: repairStep, counter } = f.failUpdates(2);
    const { repair: repairEvaluation } = f.failWrite('metrics/1-validation.json');
    let isWritten = false;
    f.beforeWrite((path) => {
      isWritten ||= path === 'metrics/1-validation.json';
    });
    f.start();
    const { activity } = (await f.until('waiting')).failure!;
    while (!isWritten || counter.calls < 2) await sleep(10);
    await sleep(100); // both have failed, and the second one waits
    repairStep();
    repairEvaluation();
    await decide('retry');
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
    assert.match(activity, /^(judgeEvaluation|trainPolicy)$/);
  });

  it('does not prevent the current step from completing while an evaluation has failed', async () => {
    const { repair } = f.failWrite('metrics/1-validation.json');
    const hold = f.holdUpdate(2);
    f.start();
    await hold.reached;
    const { failure } = await f.until('waiting');
    assert.deepEqual([failure?.activity, failure?.inStep], ['judgeEvaluation', false]);
    hold.release();
    const waiting = await f.until(({ step }) => step === 2);
    assert.deepEqual([waiting.state, waiting.failure], ['waiting', failure]);
    repair();
    await decide('retry');
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
  });

  it('is not awaited before the next step fails, if an evaluation failed and nobody is to decide', async () => {
    f.failWrite('metrics/1-validation.json');
    const handle = f.start(FAILS);
    await assert.rejects(handle.result(), { message: 'cannot write metrics/1-validation.json' });
    assert.ok((await f.steps()).length < 4);
  });

  it('may skip the step', async () => {
    const { repair } = f.failUpdates(2);
    const handle = f.start();
    await f.until('waiting');
    repair();
    await decide('skip');
    await handle.result();
    assert.equal((await f.steps()).length, 3);
    const [skip] = await f.controls();
    assert.deepEqual([skip!.action, skip!.reason, skip!.step], ['skip', 'trainPolicy: the adapter is damaged', 1]);
  });

  it('leaves no metrics of a skipped step that failed after its update', async () => {
    const counter = f.beforeUpdate(() => undefined);
    const { generate } = f.world.engine;
    let isBroken = true;
    f.world.engine.generate = async (...args: Parameters<typeof generate>) => {
      if (isBroken && counter.calls === 4) throw new GauntletError('BAD_ADAPTER', 'the adapter is damaged');
      return generate.apply(f.world.engine, args);
    };
    const handle = f.start();
    assert.equal((await f.until('waiting')).failure?.activity, 'trainPolicy'); // the activity writes the evaluation's samples
    isBroken = false;
    await decide('skip');
    await handle.result();
    assert.equal((await f.steps()).length, 3);
  });

  it('cannot skip an activity that is not part of a step', async () => {
    const { generate } = f.world.engine;
    let isBroken = false;
    f.beforeWrite((path) => {
      if (path === 'metrics/4-test.json') isBroken = true; // only the final example is left to compute
    });
    f.world.engine.generate = async (...args: Parameters<typeof generate>) => {
      if (isBroken) throw new GauntletError('BAD_ADAPTER', 'the adapter is damaged');
      return generate.apply(f.world.engine, args);
    };
    f.start();
    const { failure } = await f.until('waiting');
    assert.deepEqual([failure?.activity, failure?.inStep], ['generateChains', false]);
    await assert.rejects(decide('skip'), {
      message: 'generateChains is not part of a step: it cannot be skipped',
    });
    isBroken = false;
    await decide('retry');
    assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
  });

  it('may abort, and the run fails with the root cause', async () => {
    f.failUpdates(1);
    const handle = f.start();
    await f.until('waiting');
    await decide('abort');
    await assert.rejects(handle.result(), { message: 'the adapter is damaged' });
  });

  it('may be missing when its time is over, and the run fails', async () => {
    f.failUpdates(1);
    const handle = f.start({ ...RUN, failure: { waitHours: 0.0001 } });
    await assert.rejects(handle.result(), { message: 'the adapter is damaged' });
    assert.equal(handle.progress.state, 'failed');
  });

  it('is no longer awaited if a change makes the wait shorter than the time that has passed', async () => {
    f.failUpdates(1);
    const handle = f.start();
    await f.until('waiting');
    await f.update('change', { failure: { waitHours: 1e-7 } });
    await assert.rejects(handle.result(), { message: 'the adapter is damaged' });
    assert.equal(handle.progress.state, 'failed');
  });

  it('follows changed failure settings from the next step to the end of the run', async () => {
    const repairs = {
      'metrics/2.json': f.failWrite('metrics/2.json'),
      'metrics/4-test.json': f.failWrite('metrics/4-test.json'),
    };
    const hold = f.holdUpdate(1);
    const handle = f.start(FAILS);
    await hold.reached;
    await f.update('change', { failure: { onFailure: 'wait' } });
    hold.release();
    for (const [path, activity] of [
      ['metrics/2.json', 'trainPolicy'],
      ['metrics/4-test.json', 'judgeEvaluation'],
    ] as const) {
      const found = await f.until(({ state }) => state === 'waiting' || state === 'failed');
      assert.deepEqual([found.state, found.failure?.activity], ['waiting', activity]);
      repairs[path].repair();
      await decide('retry');
      await f.until(({ state }) => state !== 'waiting');
    }
    await handle.result();
  });
});
