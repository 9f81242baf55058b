// Vectors in memory that threads share. ONNX Runtime cannot read shared memory, so each worker copies them.
import type { DecoderConfig } from '../nn/config.js';
import { type LayoutEntry, layoutSize, parameterLayout, type TensorData, viewsOf } from '../nn/layout.js';

/** All parameters, flat as parameterLayout, in shared memory. */
export type SharedWeights = Float32Array;

export function shareVector(values: Float32Array): Float32Array {
  const shared = new Float32Array(new SharedArrayBuffer(values.byteLength));
  shared.set(values);
  return shared;
}

export function flattenWeights(
  layout: readonly LayoutEntry[],
  weights: ReadonlyMap<string, TensorData>,
): SharedWeights {
  const flat = new Float32Array(new SharedArrayBuffer(layoutSize(layout) * 4));
  for (const { name, offset } of layout) flat.set(weights.get(name)!.data, offset);
  return flat;
}

/** The tensors of a private copy. */
export function copyWeights(config: DecoderConfig, shared: SharedWeights): Map<string, TensorData> {
  return viewsOf(parameterLayout(config), new Float32Array(shared));
}
