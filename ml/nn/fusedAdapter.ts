// An adapter for fused weights. Projections that are fused get one pair of matrices: their As are stacked, and their Bs are
// the blocks on the diagonal, so that B·A is the change of the whole matrix.
import { Graph } from '../ir/graph.js';
import type { DecoderConfig, Projection } from './config.js';
import { GROUPS, type WeightInputs } from './fusedWeights.js';
import { type Adapter, loraViews, projectionShape, type TensorData } from './layout.js';
import { fusedLoraName, loraName, weightOf } from './tensorNames.js';

/** The sizes of all tensors by name. A group of n projections has A [n·rank, in] and B [out, n·rank]. */
export function fusedAdapterShapes(c: DecoderConfig, rank: number): Map<string, [rows: number, columns: number]> {
  const shapes = new Map<string, [number, number]>();
  for (let layer = 0; layer < c.layers; layer++)
    for (const group of GROUPS) {
      const weight = weightOf(layer, group[0]!);
      const { out, into } = groupShape(c, group);
      shapes.set(fusedLoraName(weight, 'A'), [group.length * rank, into]);
      shapes.set(fusedLoraName(weight, 'B'), [out, group.length * rank]);
    }
  return shapes;
}

/** All tensors by name. B contains the factor α/r. */
export function fuseAdapter(c: DecoderConfig, adapter: Adapter): Map<string, TensorData> {
  const { rank, alpha } = adapter;
  const lora = loraViews(c, adapter);
  const shapes = fusedAdapterShapes(c, rank);
  const fused = new Map<string, TensorData>();
  for (const [name, shape] of shapes) fused.set(name, { shape, data: new Float32Array(shape[0] * shape[1]) });
  for (let layer = 0; layer < c.layers; layer++)
    for (const group of GROUPS) {
      const weight = weightOf(layer, group[0]!);
      const [a, b] = [fused.get(fusedLoraName(weight, 'A'))!.data, fused.get(fusedLoraName(weight, 'B'))!.data];
      let row = 0; // the first row of the projection in B
      group.forEach((projection, i) => {
        a.set(lora.get(loraName(layer, projection, 'A'))!.data, i * rank * projectionShape(c, projection)[1]);
        const { data } = lora.get(loraName(layer, projection, 'B'))!;
        const width = group.length * rank;
        data.forEach((x, k) => {
          b[(row + Math.floor(k / rank)) * width + i * rank + (k % rank)] = (alpha / rank) * x;
        });
        row += data.length / rank;
      });
    }
  return fused;
}

/** base [out, in], a [r, in] and b [out, r] float32 → merged [out, in] like base; the sum has 32 bits. */
export function buildMergeGraph(type: WeightInputs['type']): Graph {
  const g = new Graph();
  const base = g.cast(g.input('base', type, ['out', 'in']), 'float32');
  const [a, b] = [g.input('a', 'float32', ['r', 'in']), g.input('b', 'float32', ['out', 'r'])];
  g.output('merged', g.cast(g.gemm(b, a, { c: base }), type), { direct: true });
  return g;
}

function groupShape(c: DecoderConfig, group: readonly Projection[]): { out: number; into: number } {
  const out = group.reduce((sum, projection) => sum + projectionShape(c, projection)[0], 0);
  return { out, into: projectionShape(c, group[0]!)[1] };
}
