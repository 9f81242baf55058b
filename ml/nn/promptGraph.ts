// A graph that reads the starts of new sequences into rows of the caches of buildSamplingStep.
import { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import { type CacheAttention, CachedHeads, type CacheType, cacheNames, inPlace } from './cacheAttention.js';
import type { DecoderConfig } from './config.js';
import { checkHeadSize, ropeOutsideAttention, type WeightsOf } from './decodeGraph.js';
import { decoderLayers } from './layers.js';

export interface PromptGraphOptions {
  positions: number; // the length of the caches
  attention: CacheAttention;
  type?: CacheType; // the type of weights and caches; default float32
}

const [R, L] = ['R', 'L'] as const;

/**
 * R sequences of L tokens each, padded on the right. Inputs: ids int64 [R·L]; batch int64 [3] (R, L, −1); places int64
 * [R·KV·L, 3]: the row, head and position of the caches to which the keys and values of each sequence, head and token go
 * (those of the padding may share one place that is never read); if attention is grouped, last int32 [R], the index of the
 * last token of each sequence, and longest int32 [] (L), and if also `ropeOutsideAttention`, tokenPositions int64 [R·L, 1]
 * (0..L−1 in each sequence); the weights, as `weightsOf` says.
 * Inputs and outputs that are the same memory: k{l}, v{l} [rows, KV, positions, hd].
 */
export function buildPromptGraph(c: DecoderConfig, weightsOf: WeightsOf, options: PromptGraphOptions): Graph {
  const { type = 'float32', positions, attention } = options;
  const { kvHeads: KV, heads: H, headDim: hd } = c;
  const g = new Graph();
  const weights = weightsOf(g);
  const N = `${L}·${R}`;
  const ids = g.input('ids', 'int64', [N]);
  const batch = g.input('batch', 'int64', [3]);
  const places = g.input('places', 'int64', [`${KV}·${N}`, 3]);
  const heads = new CachedHeads(g, c, weights, type, positions);
  const fresh: Value[] = []; // the new keys and values, in the order of cacheNames

  const grouped = (): ((h: Value, layer: number) => Value) => {
    checkHeadSize(c);
    const last = g.input('last', 'int32', [R]);
    const longest = g.input('longest', 'int32', []);
    const column = ropeOutsideAttention(c) ? g.input('tokenPositions', 'int64', [N, 1]) : undefined;
    return (h, layer) => {
      const { qkv, tables } = heads.packed(h, layer, column);
      const sequences = g.reshape(qkv, [R, L, (H + 2 * KV) * hd], batch);
      const attrs = { heads: H, kvHeads: KV, scale: weights.scoreScale, past: false };
      const [mixed, k, v] = g.groupQueryAttention([sequences, last, longest, ...tables], attrs);
      fresh.push(k, v);
      return mixed;
    };
  };
  const scattered = () => (h: Value, layer: number) => {
    const { q, k, v } = heads.ofSequences(h, layer, [R, L], batch);
    fresh.push(k, v);
    return g.transpose(g.attention(q, k, v, weights.scoreScale, { causal: true }), [0, 2, 1, 3]);
  };
  const mixedOf = attention === 'grouped' ? grouped() : scattered();
  decoderLayers(g, c, weights, ids, {
    attention: (h, layer) => g.reshape(mixedOf(h, layer), [N, H * hd]),
    addAndNorm: (x, y, scale) => g.skipRmsNorm(y, x, scale, c.normEps),
  });
  cacheNames(c).forEach((name, i) => {
    const lines = g.reshape(fresh[i]!, [places.shape[0]!, hd]);
    inPlace(g, name, type, ['rows', KV, positions, hd], (cache) => g.replaceND(cache, places, lines));
  });
  g.prune({ inputs: true }); // drops what follows the last keys and values; CUDA would copy unused inputs to the host
  return g;
}
