// Control requests to a running run as updates, on a real server. requests.test.ts tests the other requests.
import assert from 'node:assert/strict';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { RunResult } from '../../core/schema/run.js';
import { gauntlet } from '../cli/support.js';
import { RUN, undisturbed } from './disturbances.js';
import { runFixture } from './fixture.js';
import { record } from './golden.js';

describe('control requests to a running workflow', () => {
  const f = runFixture('control');

  async function refused(update: string, args: unknown[], message: RegExp): Promise<void> {
    await assert.rejects(f.update(update, ...args), (error: unknown) => {
      assert.ok(error instanceof WorkflowUpdateFailedError);
      assert.match(String(error.cause?.message), message);
      return true;
    });
  }

  it('hold the next step, change it, continue it, are recorded one by one, and are refused if invalid', async () => {
    const hold = f.holdUpdate(1);
    const handle = await f.start();
    await hold.reached;
    assert.equal(await f.update('pause'), 'pauses after the current step (steps done: 0)');
    hold.release();
    const paused = await f.until('paused');
    assert.equal(paused.step, 1);
    const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = process.env;
    const { out } = await gauntlet(['doctor'], { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE });
    assert.match(
      out,
      new RegExp(
        `– temporal server +${TEMPORAL_ADDRESS} \\(TEMPORAL_ADDRESS\\); a worker polls; these runs wait: ${f.id} \\(paused\\)`,
      ),
    );
    assert.deepEqual((await f.details()).slice(0, 2), [
      `**paused** · step 1 of ${paused.totalSteps}`,
      `Continue with \`gauntlet resume ${f.id}\`.`,
    ]);
    const change = { ppo: { learningRate: 0.25 } };
    assert.equal(await f.update('change', change), 'takes effect from the next step on (steps done: 1)');
    while ((await f.controls()).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal((await f.steps()).length, 1, 'no step runs during the pause');
    await refused('change', [{ seed: 3 }], /^seed: cannot change during a run/);
    await refused('decide', ['retry'], /^no failure needs a decision$/);
    const long = 'x'.repeat(1_500_000);
    await refused('change', [{ [long]: 1 }], /^a change can have at most 8192 characters/);
    await handle.signal('unknown', null);
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
    const expected = await undisturbed(RUN, { 1: [{ kind: 'change', fields: change, at: records[1]!.at }] });
    assert.deepEqual(result.digests, expected.result.digests);
    assert.equal(result.stopped, undefined);
    await record('steered', handle);
  });
});
