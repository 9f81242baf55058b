// Vectors that threads share: written once, copied by each worker (ONNX Runtime does not read shared memory in place).
import type { TensorData } from '../hf/safetensors.js';
import { type DecoderConfig, parameterLayout } from '../nn/decoder.js';
import { type LayoutEntry, layoutSize, viewsOf } from '../nn/lora.js';

/** All parameters, flat as parameterLayout, over shared memory. */
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

/** Tensors over a copy of their own. */
export function copyWeights(config: DecoderConfig, shared: SharedWeights): Map<string, TensorData> {
  return viewsOf(parameterLayout(config), new Float32Array(shared));
}
