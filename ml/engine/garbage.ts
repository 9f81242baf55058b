// Collects garbage when a thread has dropped much memory of arrays. V8 would do it late: it looks at its heap, which is
// small here, and the caches and results are array buffers outside of it.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const GROWTH = 64e6;

// V8 has no other interface for it. The flag belongs to the process and stays set: other threads need it at the same time.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const held = (): number => process.memoryUsage().arrayBuffers + process.memoryUsage().external;

let before = 0; // bytes held after the last collection
let dropped = 0; // bytes dropped since then

/** Called after a piece of work. Collects, which takes a few milliseconds, if array buffers have grown by 64 MB. */
export function collectGarbage(): void {
  const now = held();
  if (now > before + GROWTH) collectNow();
  else before = Math.min(before, now);
}

/** Called when shared memory was dropped: V8 counts it only in the thread that allocated it. */
export function dropShared(bytes: number): void {
  dropped += bytes;
  if (dropped > GROWTH) collectNow();
}

function collectNow(): void {
  collect();
  before = held();
  dropped = 0;
}
