// Entry of the thread that computes the problems of a built-in family. This takes seconds.
import { parentPort, workerData } from 'node:worker_threads';
import { loadBuiltIn } from '../data/problems.js';

parentPort!.postMessage(loadBuiltIn(workerData as string));
