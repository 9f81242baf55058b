// Runs one job in a thread of its own, for work that is rare and would block an event loop. pool.ts has a pool of threads.
import { startThread } from '../../infra/scripts.js';

/**
 * Starts the script with `workerData`. Its first message is the result.
 * @throws the error that the script threw, or an Error if the script ended without a message
 */
export function inThread<T>(script: URL, workerData: unknown, signal?: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const worker = startThread(script, workerData, signal);
    worker.once('message', (result: T) => {
      resolve(result);
      void worker.terminate(); // open connections would keep the thread alive
    });
    worker.once('error', reject);
    worker.once('exit', (status) => reject(new Error(`its thread ended without an answer (exit status ${status})`)));
  });
}
