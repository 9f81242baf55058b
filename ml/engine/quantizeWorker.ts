// Entry of the thread that quantises a model: a matter of seconds to minutes that must not hold up an event loop.
import { parentPort, workerData } from 'node:worker_threads';
import { GauntletError } from '../../core/errors.js';
import type { StoredParameter } from '../hf/checkpoint.js';
import type { PackedLayout } from '../hf/packed.js';
import { quantiseModel } from '../hf/quantize.js';

export interface QuantiseTask {
  stored: ReadonlyMap<string, StoredParameter>;
  layout: PackedLayout;
  groupSize: number;
  target: string;
}
/** What the thread says at its end. */
export type QuantiseAnswer = { error?: { code: string; message: string } };

const { stored, layout, groupSize, target } = workerData as QuantiseTask;
const answer: QuantiseAnswer = {};
try {
  quantiseModel(stored, layout, groupSize, target);
} catch (error) {
  const code = error instanceof GauntletError ? error.code : 'ENGINE_FAULT';
  answer.error = { code, message: `quantising: ${(error as Error).message}` };
}
parentPort!.postMessage(answer);
