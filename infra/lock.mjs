// A lock file for one process at a time. Another process takes the lock over if its holder died.
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isHere, PLACE } from './place.mjs';

const BEAT_MS = 2_000; // how often the holder touches the file
const STALE_MS = 30_000; // if the file is not touched for so long, the holder is dead, even if another process has its pid

/** @typedef {{ touched?: number, since?: number }} Watch when the file was touched, and when the waiter saw that first */

/**
 * Runs `work` while holding the lock file at `path`. Waits for a live holder; takes over from a dead one.
 * @template T
 * @param {string} path
 * @param {() => Promise<T>} work must not block the event loop for STALE_MS
 * @param {(holder: number) => void} [onWait] called once if another process holds the lock
 * @returns {Promise<T>}
 */
export async function withLock(path, work, onWait) {
  mkdirSync(dirname(path), { recursive: true });
  let reported = false;
  /** @type {Watch} */
  const watch = {};
  while (!tryAcquire(path)) {
    const holder = holderOf(path, watch);
    if (holder === 'stale') releaseStale(path, watch);
    else {
      if (!reported && holder !== undefined) onWait?.(holder);
      reported = true;
      await sleep(200);
    }
  }
  const beat = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date());
    } catch {
      // the file was removed
    }
  }, BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    const holder = holderIn(path);
    if (holder?.isHere && holder.pid === process.pid) rmSync(path, { force: true });
  }
}

/** Creating a link is atomic: no reader sees a lock file without its pid. */
function tryAcquire(path) {
  const mine = `${path}.${process.pid}.${PLACE}`;
  writeFileSync(mine, `${process.pid} ${PLACE}\n`);
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

function holderIn(path) {
  try {
    const [pid, place] = readFileSync(path, 'utf8').trim().split(' ');
    return { pid: Number(pid), isHere: isHere(place) };
  } catch {
    return undefined;
  }
}

/** @returns {number | 'stale' | undefined} the pid of the holder; undefined if the lock was released */
function holderOf(path, watch) {
  const holder = holderIn(path);
  if (holder === undefined) return undefined;
  let touched;
  try {
    touched = statSync(path).mtimeMs;
  } catch {
    return undefined;
  }
  if (holder.isHere) return Date.now() - touched > STALE_MS || !isAlive(holder.pid) ? 'stale' : holder.pid;
  // The holder runs elsewhere, with another clock and other pids. It is alive if this process sees the file change.
  if (watch.touched !== touched) Object.assign(watch, { touched, since: performance.now() });
  return performance.now() - watch.since > STALE_MS ? 'stale' : holder.pid;
}

/** Only one waiter may remove the file of a dead holder: a second one would remove the next holder's file. */
function releaseStale(path, watch) {
  const guard = `${path}.takeover`;
  try {
    mkdirSync(guard);
  } catch {
    try {
      if (Date.now() - statSync(guard).mtimeMs > STALE_MS) rmSync(guard, { recursive: true, force: true });
    } catch {
      // another waiter has just removed it
    }
    return;
  }
  if (holderOf(path, watch) === 'stale') rmSync(path, { force: true });
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
