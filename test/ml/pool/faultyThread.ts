// A thread for inThread.test.ts. It answers, throws or exits without a message, according to its job.
import { parentPort, workerData } from 'node:worker_threads';

const { act, value } = workerData as { act: 'answer' | 'throw' | 'exit' | 'end'; value?: unknown };
if (act === 'answer') parentPort!.postMessage(value);
if (act === 'throw') throw new RangeError('boom');
if (act === 'exit') process.exit(3);
