// `gauntlet resume` of a run that failed and of one that was terminated, on a real server. resume.system.test.ts has every state.
import assert from 'node:assert/strict';
import { RUN, undisturbed } from './disturbances.js';
import { CHANGE, FAILS, resumeFixture } from './resumeFixture.js';

describe('gauntlet resume', function () {
  this.timeout(120_000);
  const { f, resume, statusOf, ended, completesAsUndisturbed } = resumeFixture();

  it('repeats only the failed activity of a failed run', async () => {
    const { repair, counter } = f.failUpdates(3);
    await f.start(FAILS);
    await ended();
    repair();
    assert.equal((await resume()).said, 'was failed: continues where it ended');
    await completesAsUndisturbed();
    assert.equal(counter.calls, 5, 'two updates succeeded, one failed, two were left');
  });

  it('continues a run that was terminated, with all requests that it had accepted', async () => {
    const [second, third] = [f.holdUpdate(2), f.holdUpdate(3)];
    const handle = await f.start();
    await second.reached;
    await f.update('change', CHANGE);
    second.release();
    await third.reached;
    await f.update('change', { budget: { tokens: 1e9 } });
    await handle.terminate('by hand');
    await ended();
    assert.equal(await statusOf(), 'TERMINATED');
    assert.deepEqual(await f.actions(), [['change', 2]]);
    const { joined, said } = await resume();
    assert.deepEqual([joined.how, said], ['restarted', 'was terminated: continues where it ended']);
    third.release();
    const bytes = await f.completed();
    assert.deepEqual(await f.actions(), [
      ['change', 2],
      ['change', 3],
    ]);
    const { at } = (await f.controls())[0]!;
    assert.deepEqual(bytes, (await undisturbed(RUN, { 2: [{ kind: 'change', fields: CHANGE, at }] })).bytes);
    assert.notDeepEqual(bytes, (await undisturbed()).bytes);
  });
});
