// The order of tensors in flat vectors: the parameters of a model, and those of an adapter.
import { type DecoderConfig, PROJECTIONS, type Projection } from './config.js';
import {
  biasOf,
  EMBEDDING,
  FINAL_NORM,
  HEAD,
  headNorm,
  inputNorm,
  loraName,
  postAttentionNorm,
  weightOf,
} from './tensorNames.js';

/** A tensor's position in a flat vector. */
export interface LayoutEntry {
  name: string;
  shape: number[];
  offset: number; // the index of its first element
}

export interface LoraShape {
  rank: number;
  alpha: number;
  dropout?: number; // the rate of dropout on the LoRA inputs; only in training
}

/** An adapter. `values` has all LoRA tensors in the order of `loraLayout`. */
export interface Adapter {
  rank: number;
  alpha: number;
  values: Float32Array;
}

/** Equal digests mean equal values. */
export interface IdentifiedAdapter extends Adapter {
  digest: string;
}

export const elements = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

const BLOCK = 1 << 22; // the most weights that are in memory at once

/** How a tensor is read in parts of `step` rows. A vector has rows of one number. */
export function rowsOf(shape: readonly number[]): { width: number; count: number; step: number } {
  const width = shape.length === 1 ? 1 : shape.at(-1)!;
  return { width, count: elements(shape) / width, step: Math.max(1, Math.floor(BLOCK / width)) };
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

function layOut(tensors: readonly (readonly [string, number[]])[]): LayoutEntry[] {
  let offset = 0;
  return tensors.map(([name, shape]) => {
    const entry = { name, shape, offset };
    offset += elements(shape);
    return entry;
  });
}

const EACH: readonly (readonly Projection[])[] = PROJECTIONS.map((p) => [p]);

/**
 * Every parameter of a model, layer by layer.
 * @param groups projections whose weights follow each other without a gap; if one has a bias, all have one
 */
export function parameterLayout(c: DecoderConfig, groups = EACH): LayoutEntry[] {
  const tensors: [string, number[]][] = [[EMBEDDING, [c.vocab, c.hidden]]];
  for (let l = 0; l < c.layers; l++) {
    tensors.push([inputNorm(l), [c.hidden]]);
    for (const group of groups) {
      if (group[0] === 'mlp.gate_proj') tensors.push([postAttentionNorm(l), [c.hidden]]);
      for (const p of group) tensors.push([weightOf(l, p), projectionShape(c, p)]);
      if (hasBias(c, group)) for (const p of group) tensors.push([biasOf(weightOf(l, p)), [projectionShape(c, p)[0]]]);
      if (!c.qkNorm) continue;
      if (group.includes('self_attn.q_proj')) tensors.push([headNorm(l, 'q'), [c.headDim]]);
      if (group.includes('self_attn.k_proj')) tensors.push([headNorm(l, 'k'), [c.headDim]]);
    }
  }
  tensors.push([FINAL_NORM, [c.hidden]]);
  if (!c.tied) tensors.push([HEAD, [c.vocab, c.hidden]]);
  return layOut(tensors);
}

export const hasBias = (c: DecoderConfig, group: readonly Projection[]): boolean =>
  group.some((p) => c.biases.includes(p));

/** Every LoRA tensor, A [rank, in] before B [out, rank], in the order of the forward pass. */
export function loraLayout(c: DecoderConfig, rank: number): LayoutEntry[] {
  const tensors: [string, number[]][] = [];
  for (let layer = 0; layer < c.layers; layer++) {
    for (const p of PROJECTIONS) {
      const [out, into] = projectionShape(c, p);
      tensors.push([loraName(layer, p, 'A'), [rank, into]], [loraName(layer, p, 'B'), [out, rank]]);
    }
  }
  return layOut(tensors);
}

/** The number of elements of a flat vector. */
export function layoutSize(layout: readonly LayoutEntry[]): number {
  const last = layout.at(-1);
  return last ? last.offset + elements(last.shape) : 0;
}

/** A tensor in memory, row-major. */
export interface TensorData {
  shape: number[];
  data: Float32Array;
}

/** Views, not copies, of a flat vector's tensors. @throws RangeError if the vector has another length */
export function viewsOf(layout: readonly LayoutEntry[], flat: Float32Array): Map<string, TensorData> {
  if (flat.length !== layoutSize(layout))
    throw new RangeError(`${flat.length} values do not fit a layout of ${layoutSize(layout)}`);
  const view = ({ shape, offset }: LayoutEntry) => flat.subarray(offset, offset + elements(shape));
  return new Map(layout.map((entry) => [entry.name, { shape: entry.shape, data: view(entry) }]));
}

/** The LoRA tensors of an adapter by name. */
export const loraViews = (c: DecoderConfig, { rank, values }: { rank: number; values: Float32Array }) =>
  viewsOf(loraLayout(c, rank), values);
