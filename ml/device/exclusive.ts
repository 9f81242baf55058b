// Only one thread of the process calls CUDA at a time: if a thread allocates or copies while another one records a graph, both fail.
import { getEnvironmentData, setEnvironmentData, threadId } from 'node:worker_threads';

const KEY = 'gauntlet: thread that calls CUDA';
/** The number of the thread that calls CUDA plus one; 0: none does. Worker threads inherit this memory. */
const holder = (getEnvironmentData(KEY) ?? new Int32Array(new SharedArrayBuffer(4))) as Int32Array;
setEnvironmentData(KEY, holder);
const take = (): number => Atomics.compareExchange(holder, 0, 0, threadId + 1);

export function exclusively<T>(work: () => T): T {
  for (let other = take(); other !== 0; other = take()) Atomics.wait(holder, 0, other);
  try {
    return work();
  } finally {
    endTurnOf(threadId);
  }
}

/** Ends the turn of a thread, which may have been stopped during it. */
export function endTurnOf(thread: number): void {
  if (Atomics.compareExchange(holder, 0, thread + 1, 0) === thread + 1) Atomics.notify(holder, 0, 1);
}
