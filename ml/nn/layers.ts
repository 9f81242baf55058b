// The layers of a decoder. Scoring, training and generation run this loop with weights and attention of their own.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import type { DecoderConfig, Projection } from './config.js';
import { FINAL_NORM, inputNorm, postAttentionNorm } from './tensorNames.js';

export const QKV = ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'] as const;
export const GATE_UP = ['mlp.gate_proj', 'mlp.up_proj'] as const;

/** The weights of a model as the layers use them. */
export interface ModelWeights {
  /** The factor that attention applies to its scores. */
  readonly scoreScale: number;
  /** Rows of the embedding: ids [n] → [n, hidden]. */
  embed(ids: Value): Value;
  /** The scale of a norm, [size]. */
  scale(name: string, size: number): Value;
  /** x·Wᵀ + b of each projection, x [n, in] → [n, out]. */
  separate(x: Value, layer: number, projections: readonly Projection[]): Value[];
  /** What `separate` returns, side by side in one value. */
  fused(x: Value, layer: number, projections: readonly Projection[]): Value;
  /** x [n, hidden] → logits [n, vocab]. */
  logits(x: Value): Value;
}

export interface LayerOptions {
  /** The heads of a layer before its output projection: h [n, hidden] → [n, H·hd]. */
  attention(h: Value, layer: number): Value;
  /** Returns [RMSNorm of x + y, x + y]. */
  addAndNorm(x: Value, y: Value, scale: Value): [Value, Value];
  /** Indices of the tokens whose output is needed; absent: all. */
  outputs?: Value;
}

/**
 * ids [n] → the hidden states after the last norm. `checkpoints` are the values that enter each layer and the last norm. They
 * are enough to compute a layer again.
 */
export function decoderLayers(
  g: Graph,
  c: DecoderConfig,
  weights: ModelWeights,
  ids: Value,
  { attention, addAndNorm, outputs }: LayerOptions,
): { hidden: Value; checkpoints: Value[] } {
  let x = weights.embed(ids);
  let h = g.rmsNorm(x, weights.scale(inputNorm(0), c.hidden), c.normEps);
  const checkpoints = [x];
  const add = (y: Value, norm: string): void => {
    [h, x] = addAndNorm(x, y, weights.scale(norm, c.hidden));
  };
  for (let l = 0; l < c.layers; l++) {
    let heads = attention(h, l);
    if (outputs && l === c.layers - 1) [heads, x] = [g.gather(heads, outputs), g.gather(x, outputs)];
    add(weights.fused(heads, l, ['self_attn.o_proj']), postAttentionNorm(l));
    const [gate, up] = weights.separate(h, l, GATE_UP) as [Value, Value];
    const down = weights.fused(g.mul(g.silu(gate), up), l, ['mlp.down_proj']);
    add(down, l + 1 < c.layers ? inputNorm(l + 1) : FINAL_NORM);
    checkpoints.push(x);
  }
  return { hidden: h, checkpoints };
}
