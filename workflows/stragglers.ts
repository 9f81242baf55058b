// Gives a shard that takes much longer than the others to a second worker as well. Both workers compute the same result, and the
// first result is used.
import { CancellationScope, sleep } from '@temporalio/workflow';
import type { RunShards } from './layers.js';

const PATIENCE = 2; // once half of the shards are done, the others get this many times as long as that half took
const LEAST_MS = 10_000; // a worker that dies is noticed after five seconds anyway

export const reissueStragglers: RunShards = (calls) =>
  CancellationScope.cancellable(async () => {
    const started = Date.now();
    const done = calls.map(() => false);
    const firsts = calls.map(async (call, i) => {
      const result = await call();
      done[i] = true;
      return result;
    });
    const patienceEnds = firstHalf(firsts).then(() => sleep(Math.max(LEAST_MS, PATIENCE * (Date.now() - started))));
    const results = firsts.map((first, i) =>
      Promise.race([first, patienceEnds.then(() => (done[i] ? first : calls[i]!()))]),
    );
    try {
      return await Promise.all(results);
    } finally {
      CancellationScope.current().cancel(); // the timer, and calls whose result is no longer needed
    }
  });

/** Resolves when half of the promises are fulfilled. */
function firstHalf(promises: readonly Promise<unknown>[]): Promise<void> {
  let left = Math.ceil(promises.length / 2);
  return new Promise((resolve) => {
    for (const promise of promises)
      promise.then(
        () => --left === 0 && resolve(),
        () => undefined, // the caller of this promise reports the failure
      );
  });
}
