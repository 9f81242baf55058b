// `gauntlet resume` for a failed and a terminated run, on a real server. resume.system.test.ts tests every state.
import assert from 'node:assert/strict';
import { FAILS, resumeFixture } from './resumeFixture.js';

describe('gauntlet resume', function () {
  this.timeout(120_000);
  const { f, resume, ended, completesAsUndisturbed, continuesAfter } = resumeFixture();

  it('repeats only the failed activity of a failed run', async () => {
    const { repair, counter } = f.failUpdates(3);
    await f.start(FAILS);
    await ended();
    repair();
    assert.equal((await resume()).said, 'was failed: continues where it ended');
    await completesAsUndisturbed();
    assert.equal(counter.calls, 5, 'two updates succeeded, one failed, two were left');
  });
  it('continues a run that was terminated, with all requests that it had accepted', () =>
    continuesAfter('terminated', (handle) => handle.terminate('by hand')));
});
