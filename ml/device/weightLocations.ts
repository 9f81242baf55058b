// Names the files that hold parameters as ONNX Runtime does, and reads from them.
import { realpathSync } from 'node:fs';
import { join, parse, relative, sep } from 'node:path';
import { isWeightDtype, type StoredParameter } from '../hf/checkpoint.js';
import { readAll, withFile } from '../hf/files.js';
import { DTYPE_NAMES, toFloat32 } from '../hf/safetensors.js';
import { bytesOf } from '../ir/op.js';
import type { FileRange, StoredTensor, WeightLocations } from '../nn/separateWeights.js';

/** Locations are relative to this folder. ONNX Runtime refuses absolute paths and paths outside of the folder. */
export const LOCATION_ROOT = parse(process.cwd()).root;

/** The location of a file. Symbolic links are resolved. */
export const locationOf = (path: string): string => relative(LOCATION_ROOT, realpathSync(path)).split(sep).join('/');

/** Locates every parameter in the checkpoint, except those in blocks of a GGUF file. */
export function locateWeights(stored: ReadonlyMap<string, StoredParameter>): WeightLocations {
  return new Map(
    [...stored].flatMap(([name, { path, dtype, offset }]) =>
      isWeightDtype(dtype) ? [[name, { dtype: DTYPE_NAMES[dtype], location: locationOf(path), offset }] as const] : [],
    ),
  );
}

const STORED = { float32: 'F32', float16: 'F16', bfloat16: 'BF16' };

/** Reads the numbers of a parameter that is not quantized. */
export function readLocated({ dtype, ...range }: StoredTensor, count: number): Float32Array {
  return toFloat32(readRange(range, bytesOf(dtype, count)), STORED[dtype], range.location);
}

export function readRange({ location, offset }: FileRange, length: number): Uint8Array {
  const path = join(LOCATION_ROOT, location);
  return withFile(path, 'r', (fd) => readAll(fd, offset, length, path));
}
