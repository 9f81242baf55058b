// One job in a worker thread of its own: what takes long and would hold up an event loop, and is done seldom enough
// that no thread need wait for it (a pool of those is pool.ts).
import { Worker } from 'node:worker_threads';

/**
 * The script's one message is its answer; `workerData` is what it is told.
 * @throws what the script threw, of the same kind where JavaScript itself has that kind; an Error where it ended
 *   without an answer
 */
export function inThread<T>(script: URL, workerData: unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(script, { workerData });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (status) => reject(new Error(`its thread ended without an answer (exit status ${status})`)));
  });
}
