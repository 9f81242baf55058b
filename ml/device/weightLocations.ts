// Where ONNX Runtime finds the parameters that it maps, and what is there.
import { closeSync, openSync, readSync, realpathSync } from 'node:fs';
import { join, parse, relative, sep } from 'node:path';
import { GauntletError } from '../../core/errors.js';
import type { StoredParameter } from '../hf/checkpoint.js';
import { DTYPE_NAMES, toFloat32 } from '../hf/safetensors.js';
import { bytesOf } from '../ir/op.js';
import type { StoredTensor, WeightLocations } from '../nn/separateWeights.js';

/** Locations are relative to this folder. ONNX Runtime refuses absolute paths and paths outside of the folder. */
export const LOCATION_ROOT = parse(process.cwd()).root;

/** The location of a file, with symbolic links resolved. */
export const locationOf = (path: string): string => relative(LOCATION_ROOT, realpathSync(path)).split(sep).join('/');

/** Every parameter at its place in the checkpoint. */
export function locateWeights(stored: ReadonlyMap<string, StoredParameter>): WeightLocations {
  return new Map(
    [...stored].map(([name, { path, dtype, offset }]) => [
      name,
      { dtype: DTYPE_NAMES[dtype], location: locationOf(path), offset },
    ]),
  );
}

const STORED = { float32: 'F32', float16: 'F16', bfloat16: 'BF16' };

/** The numbers of a parameter that is not quantized. */
export function readLocated({ location, offset, dtype }: StoredTensor, count: number): Float32Array {
  const bytes = new Uint8Array(bytesOf(dtype, count));
  const file = openSync(join(LOCATION_ROOT, location), 'r');
  try {
    if (readSync(file, bytes, 0, bytes.length, offset) !== bytes.length)
      throw new GauntletError('BAD_MODEL', `${location} ends within a tensor`);
  } finally {
    closeSync(file);
  }
  return toFloat32(bytes, STORED[dtype], location);
}
