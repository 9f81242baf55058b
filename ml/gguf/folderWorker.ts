// Entry of the thread that makes a model folder of a GGUF file. A tokenizer takes a second, the weights of a Llama model longer.
import { parentPort, workerData } from 'node:worker_threads';
import { GauntletError } from '../../core/base/errors.js';
import { linkGguf } from './import.js';

export interface LinkTask {
  path: string;
  folder: string;
}
/** The only message of the thread. */
export type LinkAnswer = { error?: { code: string; message: string } };

const { path, folder } = workerData as LinkTask;
const answer: LinkAnswer = {};
try {
  linkGguf(path, folder);
} catch (error) {
  const code = error instanceof GauntletError ? error.code : 'BAD_MODEL';
  answer.error = { code, message: (error as Error).message };
}
parentPort!.postMessage(answer);
