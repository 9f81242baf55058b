// What Ctrl-C and SIGTERM do.
import { setMaxListeners } from 'node:events';
import { EXIT } from './exitCodes.js';
import { note } from './output.js';

const SAME_SIGNAL_MS = 1_000;

/**
 * Calls `stop` on the first Ctrl-C or SIGTERM. A later one ends the process at once. Two within a second count as one, because
 * npm and `timeout` pass on a signal that the process has received already.
 */
export function onInterrupt(stop: () => void): () => void {
  let asked: number | undefined;
  const handler = (): void => {
    if (asked === undefined) {
      asked = performance.now();
      stop();
    } else if (performance.now() - asked > SAME_SIGNAL_MS) endAtOnce();
  };
  process.on('SIGINT', handler);
  process.on('SIGTERM', handler);
  return () => {
    process.off('SIGINT', handler);
    process.off('SIGTERM', handler);
  };
}

/**
 * Ends the process by a signal, which a shell reports as 130. `process.exit` would end the threads that run native code, and
 * these then abort the process.
 */
function endAtOnce(): void {
  process.removeAllListeners('SIGINT');
  process.kill(process.pid, 'SIGINT');
}

/** Runs `work`, which Ctrl-C ends by aborting `stop`; the exit code is then 130. */
export async function interruptible(work: (stop: AbortController) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  let interrupted = false;
  setMaxListeners(0, stop.signal); // each row at work has a listener
  const release = onInterrupt(() => {
    interrupted = true;
    stop.abort();
  });
  try {
    await work(stop);
  } catch (error) {
    if (!interrupted) throw error;
    note('stopped before the end');
    process.exitCode = EXIT.interrupted;
  } finally {
    release();
  }
}
