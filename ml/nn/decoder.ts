// The decoder over whole sequences, which scoring and training use.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import { causalAttention, causalMask, partsOfMask, QUERY_BLOCK } from './attention.js';
import type { DecoderConfig } from './config.js';
import { decoderLayers, QKV } from './layers.js';
import type { LoraShape } from './layout.js';
import { ropeConstants } from './rope.js';
import { SeparateWeights, type WeightLocations } from './separateWeights.js';
import { headNorm } from './tensorNames.js';

interface DecoderForward {
  /** The hidden states after the last norm, [B·T, hidden]. */
  hidden: Value;
  /** The output projection, [vocab, hidden]. */
  head: Value;
  /** The parameters that are inputs, by name. */
  parameters: ReadonlyMap<string, Value>;
  /** The LoRA tensors by PEFT's names; empty without an adapter. */
  adapter: Map<string, Value>;
  /** The values that enter each layer: enough to compute the layer again. */
  checkpoints: Value[];
}

/** The sequences of one compiled graph, and their length. */
export interface BatchShape {
  sequences: number;
  length: number;
  branched?: boolean; // whether rows have branches, see train/branches.ts
  queryBlock?: number; // queries that attention computes together; default: what suits a CPU
}

/**
 * Appends the forward pass of sequences that are padded on the right. Input: ids int64 [sequences·length]; if rows have
 * branches, also positions int64 [sequences, length] and visible [sequences, 1, length, length] (0, or MASKED).
 */
export function decoderForward(
  g: Graph,
  c: DecoderConfig,
  { sequences, length, branched, queryBlock }: BatchShape,
  lora?: LoraShape,
  locations?: WeightLocations,
): DecoderForward {
  const n = sequences * length;
  const ids = g.input('ids', 'int64', [n]);
  const weights = new SeparateWeights(g, c, { lora, locations }, n);
  const [cos, sin] = ropeConstants(g, c, length);
  // otherwise positions count from zero in every sequence
  const positions = branched ? g.input('positions', 'int64', [sequences, length]) : g.indices([0]);
  const block = queryBlock ?? (locations ? QUERY_BLOCK.large : QUERY_BLOCK.small); // large and quantized models are in files
  const maskOf = branched
    ? partsOfMask(g, g.input('visible', 'float32', [sequences, 1, length, length]))
    : causalMask(g, length, block);
  const split = (x: Value, heads: number): Value =>
    g.transpose(g.reshape(x, [sequences, length, heads, c.headDim]), [0, 2, 1, 3]);
  const rotated = (x: Value, layer: number, side: 'q' | 'k', count: number): Value => {
    const heads = split(x, count);
    const normed = c.qkNorm ? g.rmsNorm(heads, weights.scale(headNorm(layer, side), c.headDim), c.normEps) : heads;
    return g.rotary(normed, positions, cos, sin);
  };
  const { hidden, checkpoints } = decoderLayers(g, c, weights, ids, {
    attention(h, layer) {
      const [q, k, v] = weights.separate(h, layer, QKV) as [Value, Value, Value];
      const mixed = causalAttention(
        g,
        rotated(q, layer, 'q', c.heads),
        rotated(k, layer, 'k', c.kvHeads),
        split(v, c.kvHeads),
        block,
        maskOf,
      );
      return g.reshape(g.transpose(mixed, [0, 2, 1, 3]), [n, c.heads * c.headDim]);
    },
    addAndNorm(x, y, scale) {
      const sum = g.add(x, y);
      return [g.rmsNorm(sum, scale, c.normEps), sum];
    },
  });
  return { hidden, head: weights.head(), parameters: weights.inputs, adapter: weights.adapter, checkpoints };
}
