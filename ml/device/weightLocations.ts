// Where ONNX Runtime finds the parameters that it maps.
import { realpathSync } from 'node:fs';
import { parse, relative, sep } from 'node:path';
import type { StoredParameter } from '../hf/checkpoint.js';
import { DTYPE_NAMES } from '../hf/safetensors.js';
import type { WeightLocations } from '../nn/separateWeights.js';

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
