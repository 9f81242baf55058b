// Where ONNX Runtime finds the parameters that it maps.
import { realpathSync } from 'node:fs';
import { parse, relative, sep } from 'node:path';
import type { StoredParameter, WeightDtype } from '../hf/checkpoint.js';
import type { ParameterPlan, StoredTensor } from '../nn/parameters.js';

const DTYPES: Record<WeightDtype, StoredTensor['dtype']> = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' };

/** The folder that locations of a plan are relative to. ONNX Runtime takes neither absolute ones nor any outside of it. */
export const PLAN_ROOT = parse(process.cwd()).root;

/** A file as a plan names it; links are followed. */
export const locationOf = (path: string): string => relative(PLAN_ROOT, realpathSync(path)).split(sep).join('/');

/** Every parameter where the checkpoint has it. */
export function planOf(stored: ReadonlyMap<string, StoredParameter>): ParameterPlan {
  return new Map(
    [...stored].map(([name, { path, dtype, offset }]) => [
      name,
      { dtype: DTYPES[dtype], location: locationOf(path), offset },
    ]),
  );
}
