// An adapter on disk: the two files of PEFT, and the optimizer state, so that AdamW continues over several updates.
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { GauntletError } from '../../core/errors.js';
import type { Adapter, Engine, OptimizerState } from '../../ml/engine/engine.js';
import { MAX_TEXT, readWhole } from '../../ml/hf/files.js';
import { ADAPTER_FILES } from '../../ml/hf/peft.js';
import { parseSafetensors, writeSafetensors } from '../../ml/hf/safetensors.js';
import { checkTarget, writeFolder } from '../folder.js';

const OPTIMIZER = 'optimizer.safetensors';
const MAX_BYTES = 2 ** 31; // of a file; Node cannot read a larger one at once

/** @throws {GauntletError} BAD_ADAPTER naming the file, and the field or tensor that does not fit the model */
export async function readAdapterFolder(engine: Engine, folder: string): Promise<Adapter> {
  const kind = await stat(folder).catch(() => undefined);
  if (!kind?.isDirectory()) throw new GauntletError('BAD_ADAPTER', `${folder}: no such folder`);
  const files = new Map<string, Uint8Array>();
  for (const name of Object.values(ADAPTER_FILES)) {
    const path = join(folder, name);
    if (existsSync(path))
      files.set(name, readWhole(path, name === ADAPTER_FILES.config ? MAX_TEXT : MAX_BYTES, 'BAD_ADAPTER'));
  }
  try {
    const adapter = engine.importAdapter(files);
    if (adapter.values.every(Number.isFinite)) return adapter;
    throw new GauntletError('BAD_ADAPTER', 'the adapter holds a value that is not finite');
  } catch (error) {
    if (!(error instanceof GauntletError)) throw error;
    throw new GauntletError(error.code, `${folder}: ${error.message}`);
  }
}

/**
 * The optimizer state of the adapter; a new one if the folder has none.
 * @throws {GauntletError} BAD_ADAPTER if it does not fit the adapter
 */
export async function readOptimizer(engine: Engine, adapter: Adapter, folder: string): Promise<OptimizerState> {
  const path = join(folder, OPTIMIZER);
  if (!existsSync(path)) return engine.newOptimizerState(adapter);
  const tensors = parseSafetensors(readWhole(path, MAX_BYTES, 'BAD_ADAPTER'), path, 'BAD_ADAPTER');
  const vector = (name: string, length: number): Float32Array => {
    const data = tensors.get(name)?.data;
    if (data?.length === length && data.every(Number.isFinite)) return data;
    const what = data === undefined ? 'is missing' : `has not the ${length} finite values that this adapter needs`;
    throw new GauntletError('BAD_ADAPTER', `${path}: tensor ${name} ${what}`);
  };
  const size = adapter.values.length;
  return { step: vector('step', 1)[0]!, m: vector('m', size), v: vector('v', size) };
}

/** Fails early if the folder must not be overwritten. @throws {GauntletError} BAD_INPUT */
export function checkAdapterTarget(folder: string, overwrite: boolean | undefined): void {
  checkTarget(folder, { marker: ADAPTER_FILES.config, kind: 'adapter folder', replace: overwrite === true });
}

/** m and v are flat, in the engine's order of the adapter tensors; step counts applied updates. */
export async function writeAdapterFolder(
  engine: Engine,
  folder: string,
  adapter: Adapter,
  optimizer?: OptimizerState,
): Promise<void> {
  const files = engine.exportAdapter(adapter);
  if (optimizer) {
    const { step, m, v } = optimizer;
    const flat = (data: Float32Array) => ({ shape: [data.length], data });
    const tensors = { m: flat(m), v: flat(v), step: flat(Float32Array.of(step)) };
    files.set(OPTIMIZER, writeSafetensors(new Map(Object.entries(tensors))));
  }
  await writeFolder(folder, files);
}
