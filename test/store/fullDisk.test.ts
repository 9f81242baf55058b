// A full disk: runs a pipeline of doubles on a small tmpfs in its own mount namespace.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { scriptArguments } from '../../infra/scripts.js';

const CHILD = scriptArguments(new URL('./fullDiskChild.js', import.meta.url));

function mayMount(): boolean {
  try {
    execFileSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs none /mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('a full disk', () => {
  it('causes one retryable error and no partial file, and the run writes the same bytes once there is space', async function () {
    if (!mayMount()) this.skip(); // this process may not mount a tmpfs
    const script = `mount -t tmpfs -o size=8m none /mnt && exec "${[process.execPath, ...CHILD].join('" "')}" /mnt`;
    const { stdout } = await promisify(execFile)('unshare', ['-m', 'sh', '-c', script]);
    const told = JSON.parse(stdout) as { faults: string[]; problems: unknown[]; leftovers: string[]; same: boolean };
    assert.ok(told.faults.length >= 3, `${told.faults.length} faults`);
    for (const line of told.faults)
      assert.match(line, /^STORE_FAULT true writing \/mnt\/store\/.*: no space left \(ENOSPC\)$/);
    assert.deepEqual([told.problems, told.leftovers, told.same], [[], [], true]);
  });
});
