// A thread for thread.test.ts: answers, throws, or ends without a word, as it is told.
import { parentPort, workerData } from 'node:worker_threads';

const { act, value } = workerData as { act: 'answer' | 'throw' | 'exit' | 'end'; value?: unknown };
if (act === 'answer') parentPort!.postMessage(value);
if (act === 'throw') throw new RangeError('boom');
if (act === 'exit') process.exit(3);
