import assert from 'node:assert/strict';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, withLock } from '../../infra/lock.mjs';
import { isHere, PLACE } from '../../infra/place.mjs';
import { runNode, temporaryFolder } from './support.js';

describe('withLock', () => {
  it('runs one caller at a time, reports the holder and removes its file', async () => {
    const path = join(temporaryFolder(), 'deep', 'lock');
    let inside = 0;
    const waits: number[] = [];
    const work = async () => {
      assert.equal(++inside, 1);
      await sleep(30);
      inside--;
      return 'done';
    };
    const results = await Promise.all([1, 2, 3].map(() => withLock(path, work, (pid) => waits.push(pid))));
    assert.deepEqual(results, ['done', 'done', 'done']);
    assert.deepEqual(new Set(waits), new Set([process.pid]));
    assert.equal(existsSync(path), false);
  });

  it('releases the lock after an error', async () => {
    const path = join(temporaryFolder(), 'lock');
    await assert.rejects(
      withLock(path, async () => {
        throw new Error('inside');
      }),
      /inside/,
    );
    assert.equal(existsSync(path), false);
  });

  it('takes the lock over from a dead process', async () => {
    const path = join(temporaryFolder(), 'lock');
    const { code } = await runNode([
      '--input-type=module',
      '-e',
      `const { withLock } = await import(${JSON.stringify(import.meta.resolve('../../infra/lock.mjs'))});
       await withLock(${JSON.stringify(path)}, async () => process.kill(process.pid, 'SIGKILL') && new Promise(() => {}));`,
    ]);
    assert.equal(code, null);
    assert.equal(existsSync(path), true);
    assert.equal(await withLock(path, async () => 'mine'), 'mine');
  });

  it('recognises its own place after the host name changed', () => {
    assert.ok(isHere(PLACE));
    assert.ok(isHere(`another-name-${PLACE.slice(-8)}`));
    assert.ok(!isHere(`${PLACE.slice(0, -8)}00000000`));
    assert.ok(!isHere(undefined));
  });

  it('takes the lock over if a reused pid does not touch the file, even after an aborted takeover', async () => {
    const path = join(temporaryFolder(), 'lock');
    writeFileSync(path, `${process.ppid} ${PLACE}\n`);
    mkdirSync(`${path}.takeover`);
    const past = new Date(Date.now() - 120_000);
    for (const file of [path, `${path}.takeover`]) utimesSync(file, past, past);
    assert.equal(await withLock(path, async () => 'mine'), 'mine');
  });

  it('detects whether a process is alive', () => {
    assert.equal(isAlive(process.pid), true);
    assert.equal(isAlive(2 ** 22 + 1), false); // larger than the largest pid of Linux
  });
});
