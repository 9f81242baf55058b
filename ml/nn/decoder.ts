// The decoder over whole sequences: what scoring and training run. It works on rows, [B·T, hidden]; every LoRA tensor is
// a graph input under its PEFT name, so one compiled graph serves any adapter.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import { type DecoderConfig, PROJECTIONS, type Projection } from './config.js';
import { LoraDropout } from './dropout.js';
import { type LayoutEntry, layOut, loraName, projectionShape } from './lora.js';
import { type ParameterPlan, Parameters } from './parameters.js';
import { ropeTables } from './rope.js';

export type { DecoderConfig } from './config.js';
export { ropeTables } from './rope.js';

const QUERY_BLOCK = 32; // fewer leave more of the future out, more make larger products; 32 to 96 cost the same
const CAUSAL = -1e9; // added to the score of a key in the future: its probability is exactly 0

/** Every parameter with its place in the flat vector of full-parameter training, in the order of the layers. */
export function parameterLayout(c: DecoderConfig): LayoutEntry[] {
  const tensors: [string, number[]][] = [['model.embed_tokens.weight', [c.vocab, c.hidden]]];
  for (let l = 0; l < c.layers; l++) {
    const layer = `model.layers.${l}.`;
    tensors.push([`${layer}input_layernorm.weight`, [c.hidden]]);
    for (const projection of PROJECTIONS) {
      const shape = projectionShape(c, projection);
      if (projection === 'mlp.gate_proj') tensors.push([`${layer}post_attention_layernorm.weight`, [c.hidden]]);
      tensors.push([`${layer}${projection}.weight`, shape]);
      if (c.biases.includes(projection)) tensors.push([`${layer}${projection}.bias`, [shape[0]]]);
      if (c.qkNorm && NORMED.includes(projection)) tensors.push([`${layer}${normOf(projection)}.weight`, [c.headDim]]);
    }
  }
  tensors.push(['model.norm.weight', [c.hidden]]);
  if (!c.tied) tensors.push(['lm_head.weight', [c.vocab, c.hidden]]);
  return layOut(tensors);
}

const NORMED: readonly Projection[] = ['self_attn.q_proj', 'self_attn.k_proj'];
/** Qwen3's norm over the heads of a projection: `self_attn.q_norm`. */
export const normOf = (projection: Projection): string => projection.replace('_proj', '_norm');

export interface DecoderForward {
  /** After the last norm, [B·T, hidden]. */
  hidden: Value;
  /** [vocab, hidden] */
  head: Value;
  /** Parameters that are inputs, by name. */
  parameters: ReadonlyMap<string, Value>;
  /** LoRA tensors by PEFT name; empty without a LoRA. */
  adapter: Map<string, Value>;
  /** What enters each layer: enough to compute the layer once more. */
  checkpoints: Value[];
}

/**
 * Appends the forward pass of `rows` sequences of `length` tokens, padded on the right. Input: ids int64 [rows·length].
 * A LoRA adds (alpha / rank)·(x·Aᵀ)·Bᵀ to all seven projections; `dropout` is the rate at which it loses elements of x.
 */
export function decoderForward(
  g: Graph,
  c: DecoderConfig,
  rows: number,
  length: number,
  lora?: { rank: number; alpha: number; dropout?: number },
  plan?: ParameterPlan,
): DecoderForward {
  const parameters = new Parameters(g, plan);
  const adapter = new Map<string, Value>();
  const n = rows * length;
  const ids = g.input('ids', 'int64', [n]);
  const norm = (x: Value, name: string, size = c.hidden): Value =>
    g.rmsNorm(x, parameters.get(`${name}.weight`, [size]), c.normEps);
  const dropout = lora?.dropout ? new LoraDropout(g, n, lora.dropout) : undefined;
  const scale = lora ? lora.alpha / lora.rank / (1 - (lora.dropout ?? 0)) : 0;
  const linear = (x: Value, layer: number, projection: Projection): Value => {
    const name = `model.layers.${layer}.${projection}`;
    const [out, into] = projectionShape(c, projection);
    const y = parameters.linear(x, name, [out, into], c.biases.includes(projection));
    if (!lora) return y;
    const [nameA, nameB] = [loraName(layer, projection, 'A'), loraName(layer, projection, 'B')];
    const a = g.input(nameA, 'float32', [lora.rank, into]);
    const b = g.input(nameB, 'float32', [out, lora.rank]);
    adapter.set(nameA, a).set(nameB, b);
    const input = dropout ? dropout.apply(x, layer, projection) : x;
    return g.gemm(g.gemm(input, a, { transB: true }), b, { transB: true, alpha: scale, c: y });
  };

  const { cos, sin } = ropeTables(c, length);
  const cosine = g.constant('rope_cos', [length, c.headDim / 2], cos);
  const sine = g.constant('rope_sin', [length, c.headDim / 2], sin);
  const start = g.indices([0]); // positions count from zero in every row
  const split = (x: Value, heads: number): Value =>
    g.transpose(g.reshape(x, [rows, length, heads, c.headDim]), [0, 2, 1, 3]);

  const rotated = (x: Value, layer: number, projection: Projection, heads: number): Value => {
    const all = split(linear(x, layer, projection), heads);
    const normed = c.qkNorm ? norm(all, `model.layers.${layer}.${normOf(projection)}`, c.headDim) : all;
    return g.rotary(normed, start, cosine, sine);
  };
  const attention = (x: Value, layer: number): Value => {
    const q = rotated(x, layer, 'self_attn.q_proj', c.heads);
    const k = rotated(x, layer, 'self_attn.k_proj', c.kvHeads);
    const v = split(linear(x, layer, 'self_attn.v_proj'), c.kvHeads);
    const joined = g.transpose(causalAttention(g, q, k, v), [0, 2, 1, 3]);
    return linear(g.reshape(joined, [n, c.heads * c.headDim]), layer, 'self_attn.o_proj');
  };
  const mlp = (x: Value, layer: number): Value => {
    const gate = g.silu(linear(x, layer, 'mlp.gate_proj'));
    return linear(g.mul(gate, linear(x, layer, 'mlp.up_proj')), layer, 'mlp.down_proj');
  };

  const table = ['model.embed_tokens.weight', [c.vocab, c.hidden]] as const;
  let x = parameters.rows(...table, ids);
  const checkpoints: Value[] = [];
  for (let layer = 0; layer < c.layers; layer++) {
    checkpoints.push(x);
    x = g.add(x, attention(norm(x, `model.layers.${layer}.input_layernorm`), layer));
    x = g.add(x, mlp(norm(x, `model.layers.${layer}.post_attention_layernorm`), layer));
  }
  const hidden = norm(x, 'model.norm');
  const head = parameters.get(parameters.headName(c.tied), table[1]);
  return { hidden, head, parameters: parameters.inputs, adapter, checkpoints: [...checkpoints, x] };
}

/**
 * softmax(q·kᵀ/√hd)·v over the past of each query. q [B, H, T, hd], k and v [B, KV, T, hd] → [B, H, T, hd].
 * Queries go in blocks, each against the keys up to its own end: the future is half of the work, and most of it is
 * never computed. So a row's result does not depend on how far its batch is padded.
 */
function causalAttention(g: Graph, q: Value, k: Value, v: Value): Value {
  const [rows, heads, length, headDim] = q.shape as [number, number, number, number];
  const kvHeads = k.shape[1] as number;
  const blocks: Value[] = [];
  for (let start = 0; start < length; start += QUERY_BLOCK) {
    const end = Math.min(length, start + QUERY_BLOCK);
    const size = end - start;
    const part = (x: Value, from: number): Value => (from === 0 && end === length ? x : g.slice(x, 2, from, end));
    // grouped-query attention: the query heads that share a key become rows of one product
    const folded = [rows, kvHeads, (heads / kvHeads) * size];
    const scores = g.fusedMatMul(g.reshape(part(q, start), [...folded, headDim]), part(k, 0), {
      transB: true,
      alpha: 1 / Math.sqrt(headDim),
    });
    const p = g.softmax(g.add(g.reshape(scores, [rows, heads, size, end]), causalMask(g, start, end)));
    const mixed = g.fusedMatMul(g.reshape(p, [...folded, end]), part(v, 0));
    blocks.push(g.reshape(mixed, [rows, heads, size, headDim]));
  }
  return g.concat(blocks, 2);
}

/** What is added to the scores of queries start..end against keys 0..end. One constant per block and graph. */
function causalMask(g: Graph, start: number, end: number): Value {
  const name = `causal_${start}_${end}`;
  for (const known of g.constants.keys()) if (known.name === name) return known;
  const mask = new Float32Array((end - start) * end);
  for (let i = start; i < end; i++) mask.fill(CAUSAL, (i - start) * end + i + 1, (i - start + 1) * end);
  return g.constant(name, [end - start, end], mask);
}
