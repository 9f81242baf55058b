// Entry of the thread that quantizes a model. It takes seconds to minutes and must not block an event loop.
import { parentPort, workerData } from 'node:worker_threads';
import { GauntletError } from '../../core/base/errors.js';
import type { StoredParameter } from '../hf/checkpoint.js';
import type { PackedLayout } from '../hf/packed.js';
import { quantizeModel } from '../hf/quantize.js';

export interface QuantizeTask {
  stored: ReadonlyMap<string, StoredParameter>;
  layout: PackedLayout;
  keepBlocks: boolean; // see quantizeModel
  target: string;
}
/** The only message of the thread. */
export type QuantizeAnswer = { error?: { code: string; message: string } };

const { stored, layout, keepBlocks, target } = workerData as QuantizeTask;
const answer: QuantizeAnswer = {};
try {
  quantizeModel(stored, layout, keepBlocks, target);
} catch (error) {
  const code = error instanceof GauntletError ? error.code : 'ENGINE_FAULT';
  answer.error = { code, message: `quantizing: ${(error as Error).message}` };
}
parentPort!.postMessage(answer);
