// One process at a time: a lock file that a killed holder cannot leave closed for ever.
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const BEAT_MS = 2_000; // the holder touches its file this often
const STALE_MS = 30_000; // a file untouched for this long has no holder, whoever has its pid now

/**
 * Runs `work` while holding the lock file at `path`. Waits for another holder; takes over from a dead one.
 * @template T
 * @param {string} path
 * @param {() => Promise<T>} work must not block the event loop for STALE_MS
 * @param {(holder: number) => void} [onWait] called once when somebody else holds the lock
 * @returns {Promise<T>}
 */
export async function withLock(path, work, onWait) {
  mkdirSync(dirname(path), { recursive: true });
  let told = false;
  while (!tryAcquire(path)) {
    const holder = holderOf(path);
    if (holder === 'stale') releaseStale(path);
    else {
      if (!told && holder !== undefined) onWait?.(holder);
      told = true;
      await sleep(200);
    }
  }
  const beat = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date());
    } catch {
      // gone: nothing to keep fresh
    }
  }, BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    if (holderPid(path) === process.pid) rmSync(path, { force: true });
  }
}

/** A link is made whole or not at all, so that no reader ever sees a lock without its pid. */
function tryAcquire(path) {
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, `${process.pid}\n`);
  try {
    linkSync(mine, path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}

function holderPid(path) {
  try {
    return Number.parseInt(readFileSync(path, 'utf8'), 10);
  } catch {
    return undefined;
  }
}

/** @returns {number | 'stale' | undefined} undefined: released meanwhile */
function holderOf(path) {
  const pid = holderPid(path);
  if (pid === undefined) return undefined;
  try {
    if (Date.now() - statSync(path).mtimeMs > STALE_MS) return 'stale';
  } catch {
    return undefined;
  }
  return isAlive(pid) ? pid : 'stale';
}

/** Only one of several waiters may remove a dead holder's file: the others would remove the next holder's. */
function releaseStale(path) {
  const guard = `${path}.takeover`;
  try {
    mkdirSync(guard);
  } catch {
    try {
      if (Date.now() - statSync(guard).mtimeMs > STALE_MS) rmSync(guard, { recursive: true, force: true });
    } catch {
      // another waiter has just finished the take-over
    }
    return;
  }
  if (holderOf(path) === 'stale') rmSync(path, { force: true });
  rmSync(guard, { recursive: true, force: true });
}

/** @param {number} pid */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
