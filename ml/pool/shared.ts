// Copies vectors into memory that threads share. ONNX Runtime cannot read shared memory, so each worker copies them again.
import { type LayoutEntry, layoutSize, type TensorData } from '../nn/layout.js';

export function shareVector(values: Float32Array): Float32Array {
  const shared = new Float32Array(new SharedArrayBuffer(values.byteLength));
  shared.set(values);
  return shared;
}

/** All tensors of a layout, flat in shared memory. */
export function flattenWeights(layout: readonly LayoutEntry[], weights: ReadonlyMap<string, TensorData>): Float32Array {
  const flat = new Float32Array(new SharedArrayBuffer(layoutSize(layout) * 4));
  for (const { name, offset } of layout) flat.set(weights.get(name)!.data, offset);
  return flat;
}
