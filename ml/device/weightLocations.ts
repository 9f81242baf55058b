// The files that hold the parameters, as ONNX Runtime names them, and how to read from them.
import { closeSync, openSync, readSync, realpathSync } from 'node:fs';
import { join, parse, relative, sep } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import type { StoredParameter } from '../hf/checkpoint.js';
import { DTYPE_NAMES, toFloat32 } from '../hf/safetensors.js';
import { bytesOf } from '../ir/op.js';
import type { FileRange, StoredTensor, WeightLocations } from '../nn/separateWeights.js';

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
export function readLocated({ dtype, ...range }: StoredTensor, count: number): Float32Array {
  return toFloat32(readRange(range, bytesOf(dtype, count)), STORED[dtype], range.location);
}

const MOST_READ = 2 ** 30; // bytes; Node.js reads less than 2³¹ at once

/** The bytes of a range. */
export function readRange({ location, offset }: FileRange, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  const file = openSync(join(LOCATION_ROOT, location), 'r');
  try {
    for (let at = 0; at < length; ) {
      const read = readSync(file, bytes, at, Math.min(MOST_READ, length - at), offset + at);
      if (read === 0) throw new GauntletError('BAD_MODEL', `${location} ends within a tensor`);
      at += read;
    }
  } finally {
    closeSync(file);
  }
  return bytes;
}
