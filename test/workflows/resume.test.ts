// `gauntlet resume` for a failed and a terminated run, on a real server. resume.system.test.ts tests every state.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAttention } from '../../store/runs.js';
import { FAILS, resumeFixture } from './resumeFixture.js';

describe('gauntlet resume', () => {
  const { f, resume, ended, completesAsUndisturbed, continuesAfter } = resumeFixture();

  it('repeats only the failed activity of a failed run', async () => {
    const { repair, counter } = f.failUpdates(3);
    await f.start(FAILS);
    await ended();
    const attention = () => readAttention(f.world.deps.store, f.id);
    while ((await attention())?.state !== 'failed') await sleep(20);
    repair();
    assert.equal((await resume()).said, 'was failed: continues where it ended');
    await completesAsUndisturbed();
    assert.equal(await attention(), undefined, 'the store says no longer that the run has failed');
    assert.equal(counter.calls, 5, 'two updates succeeded, one failed, two were left');
  });
  it('continues a run that was terminated, with all requests that it had accepted', () =>
    continuesAfter('terminated', (handle) => handle.terminate('by hand')));
});
