// A worker for pool.test.ts. It does what its job requests, including an exit.
import { parentPort } from 'node:worker_threads';
import type { JobMessage } from '../../../ml/pool/pool.js';

const port = parentPort!;
port.on('message', (message: JobMessage | 'close') => {
  if (message === 'close') return port.close();
  const { id, job, stop } = message;
  const { act, value } = job as { act: string; value?: unknown };
  if (act === 'throw') throw new Error('boom');
  if (act === 'exit') process.exit(3);
  if (act === 'fail') return port.postMessage({ id, kind: 'failed', code: value, message: 'said so' });
  if (act === 'wait') {
    const timer = setInterval(() => {
      if (Atomics.load(stop, 0) === 0) return;
      clearInterval(timer);
      port.postMessage({ id, kind: 'failed', code: 'ENGINE_FAULT', message: 'stopped' });
    }, 1);
    return;
  }
  port.postMessage({ id, kind: 'progress', amount: 2 });
  port.postMessage({ id, kind: 'done', result: value });
});
