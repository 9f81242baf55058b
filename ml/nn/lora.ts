// The canonical order of adapter tensors: layer by layer, the seven projections in the order of the forward pass, A
// before B. An adapter is one flat vector in this order; names are PEFT's, so that its files need no translation.
import { type DecoderConfig, PROJECTIONS, type Projection } from './config.js';

/** A tensor's place in a flat vector. */
export interface LayoutEntry {
  name: string;
  shape: number[];
  offset: number; // in elements
}

/** [out, in] of a projection's weight. */
export function projectionShape(c: DecoderConfig, projection: Projection): [number, number] {
  const attention = c.heads * c.headDim;
  const keyValue = c.kvHeads * c.headDim;
  const shapes: Record<Projection, [number, number]> = {
    'self_attn.q_proj': [attention, c.hidden],
    'self_attn.k_proj': [keyValue, c.hidden],
    'self_attn.v_proj': [keyValue, c.hidden],
    'self_attn.o_proj': [c.hidden, attention],
    'mlp.gate_proj': [c.ffn, c.hidden],
    'mlp.up_proj': [c.ffn, c.hidden],
    'mlp.down_proj': [c.hidden, c.ffn],
  };
  return shapes[projection];
}

/** PEFT's name of a LoRA tensor. */
export const loraName = (layer: number, projection: Projection, side: 'A' | 'B'): string =>
  `base_model.model.model.layers.${layer}.${projection}.lora_${side}.weight`;

/** Lays named shapes one after the other. */
export function layOut(tensors: readonly (readonly [string, number[]])[]): LayoutEntry[] {
  let offset = 0;
  return tensors.map(([name, shape]) => {
    const entry = { name, shape, offset };
    offset += shape.reduce((a, b) => a * b, 1);
    return entry;
  });
}

/** Every LoRA tensor (A [rank, in], B [out, rank]) with its place in the flat vector. */
export function loraLayout(c: DecoderConfig, rank: number): LayoutEntry[] {
  const tensors: [string, number[]][] = [];
  for (let layer = 0; layer < c.layers; layer++) {
    for (const projection of PROJECTIONS) {
      const [out, into] = projectionShape(c, projection);
      tensors.push([loraName(layer, projection, 'A'), [rank, into]], [loraName(layer, projection, 'B'), [out, rank]]);
    }
  }
  return layOut(tensors);
}

/** Elements of a flat vector of this layout. */
export function layoutSize(layout: readonly LayoutEntry[]): number {
  const last = layout.at(-1);
  return last ? last.offset + last.shape.reduce((a, b) => a * b, 1) : 0;
}

/** Views, not copies, of a flat vector's tensors. @throws RangeError where the vector has another length. */
export function viewsOf(
  layout: readonly LayoutEntry[],
  flat: Float32Array,
): Map<string, { shape: number[]; data: Float32Array }> {
  if (flat.length !== layoutSize(layout))
    throw new RangeError(`${flat.length} values for a layout of ${layoutSize(layout)}`);
  const views = new Map<string, { shape: number[]; data: Float32Array }>();
  layout.forEach(({ name, shape, offset }, i) => {
    views.set(name, { shape, data: flat.subarray(offset, layout[i + 1]?.offset ?? flat.length) });
  });
  return views;
}
