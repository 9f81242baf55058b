// One thread of the process calls CUDA at a time: while a thread records a graph, an allocation or a copy of another one makes both fail.
import { getEnvironmentData, setEnvironmentData, threadId } from 'node:worker_threads';

const KEY = 'gauntlet: thread that calls CUDA';
/** Its number plus one; 0: none. Worker threads inherit the memory. */
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

/** Also of a thread that was stopped during its turn. */
export function endTurnOf(thread: number): void {
  if (Atomics.compareExchange(holder, 0, thread + 1, 0) === thread + 1) Atomics.notify(holder, 0, 1);
}
