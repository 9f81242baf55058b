// The graphs of generation. Key and value caches are inputs, and only the keys and values of the new tokens are outputs:
// the caller writes them into its buffers, because the runtime copies an output that is fetched but not an input.
//
// The result of a sequence depends neither on the other sequences of its batch nor on the room in its cache: attention
// sees the filled positions only, and a matmul gives each row the same bits in any batch of two or more.
import { GauntletError } from '../../core/base/errors.js';
import { Graph } from '../ir/graph.js';
import { END, type Value } from '../ir/op.js';
import type { DecoderConfig } from './config.js';
import { decoderLayers, type LayerOptions, type ModelWeights, QKV } from './layers.js';
import { ropeConstants } from './rope.js';
import { headNorm } from './tensorNames.js';

/** What a graph returns for the next token: its logits, softmax(logits·scale), or the index of the largest logit. */
export type OutputKind = 'logits' | 'probabilities' | 'greedy';

export interface DecodeGraphOptions {
  positions: number; // the context length
  output: OutputKind;
}

export type WeightsOf = (g: Graph) => ModelWeights;

/**
 * Reads many new tokens of each sequence (a prompt) or one (a step), after a past or without one.
 * N = B·T new tokens of B sequences, padded on the right; after a past, T = 1 or B = 1. Inputs: ids int64 [N];
 * batch int64 [3] (B, T, −1); seqlensK int32 [B] (the length of each sequence, new tokens included, minus one);
 * totalSequenceLength int32 [] (the largest length); per layer k{l}, v{l} [B, KV, S, hd] with S at least the longest
 * past; kvIndices int64 [n, 3] (sequence, head, position of the keys and values to return); last int64 [R] (indices into
 * ids of the tokens whose successor is wanted); scale [1] for probabilities; positions int64 [N, 1] if
 * `ropeOutsideAttention` → next: [R, vocab], or int64 [R] for greedy; kv [2·layers·n, hd].
 */
export function buildDecodeGraph(c: DecoderConfig, weightsOf: WeightsOf, options: DecodeGraphOptions): Graph {
  const { kvHeads: KV, headDim: hd, heads: H } = c;
  checkHeadSize(c);
  const g = new Graph();
  const weights = weightsOf(g);
  const N = 'B·T';
  const ids = g.input('ids', 'int64', [N]);
  const batch = g.input('batch', 'int64', [3]);
  const seqlensK = g.input('seqlensK', 'int32', ['B']);
  const totalSequenceLength = g.input('totalSequenceLength', 'int32', []);
  const kvIndices = g.input('kvIndices', 'int64', ['n', 3]);
  const outputs = g.input('last', 'int64', ['R']);
  const [cos, sin] = ropeConstants(g, c, options.positions);
  const positions = ropeOutsideAttention(c) ? g.input('positions', 'int64', [N, 1]) : undefined;
  const rotated = (x: Value, heads: number): Value => {
    if (!positions) return x;
    return g.reshape(g.rotary(g.reshape(x, [N, heads, 1, hd]), positions, cos, sin), [N, heads * hd]);
  };
  const qkvOf = (h: Value, layer: number): Value => {
    if (!c.qkNorm && !positions) return weights.fused(h, layer, QKV);
    const [q, k, v] = normedQkv(g, c, weights, h, layer);
    return g.concat([rotated(q, H), rotated(k, KV), v], 1);
  };

  const presentKv: Value[] = [];
  const attention = (h: Value, l: number): Value => {
    const pastK = g.input(`k${l}`, 'float32', ['B', KV, 'S', hd]);
    const pastV = g.input(`v${l}`, 'float32', ['B', KV, 'S', hd]);
    const qkv = g.reshape(qkvOf(h, l), ['B', 'T', (H + 2 * KV) * hd], batch);
    const inputs = [qkv, pastK, pastV, seqlensK, totalSequenceLength, ...(positions ? [] : [cos, sin])];
    const [mixed, k, v] = g.groupQueryAttention(inputs, { heads: H, kvHeads: KV, scale: weights.scoreScale });
    presentKv.push(g.gatherND(k, kvIndices), g.gatherND(v, kvIndices));
    return g.reshape(mixed, [N, H * hd]);
  };
  return finish(g, c, weights, ids, { attention, outputs }, presentKv, options.output);
}

/**
 * A graph for steps only. It is faster for a small model, because the attention kernel of the other graph copies every cache.
 * Inputs: ids int64 [B]; positions int64 [B, 1]; mask [B, 1, 1, 1, S] (0 for a filled position, else MASKED); per layer
 * k{l}, v{l} [B, KV, 1, S, hd], finite everywhere, S a multiple of 16 so that sums do not depend on the room; scale [1]
 * for probabilities → next as above with R = B; kv [2·layers·B·KV, hd].
 */
export function buildStepGraph(c: DecoderConfig, weightsOf: WeightsOf, options: DecodeGraphOptions): Graph {
  const { kvHeads: KV, headDim: hd, heads: H } = c;
  const g = new Graph();
  const weights = weightsOf(g);
  const ids = g.input('ids', 'int64', ['B']);
  const positions = g.input('positions', 'int64', ['B', 1]);
  const mask = g.input('mask', 'float32', ['B', 1, 1, 1, 'S']);
  const [cos, sin] = ropeConstants(g, c, options.positions);
  const rotated = (x: Value, heads: number): Value => g.rotary(g.reshape(x, ['B', heads, 1, hd]), positions, cos, sin);
  const headsOf = (h: Value, layer: number): [q: Value, k: Value, v: Value] => {
    if (c.qkNorm) {
      const [q, k, v] = normedQkv(g, c, weights, h, layer);
      return [rotated(q, H), rotated(k, KV), v];
    }
    const all = weights.fused(h, layer, QKV);
    const qk = rotated(g.slice(all, 1, 0, (H + KV) * hd), H + KV);
    return [g.slice(qk, 1, 0, H), g.slice(qk, 1, H, H + KV), g.slice(all, 1, (H + KV) * hd, (H + 2 * KV) * hd)];
  };

  const presentKv: Value[] = [];
  const attention = (h: Value, l: number): Value => {
    const pastK = g.input(`k${l}`, 'float32', ['B', KV, 1, 'S', hd]);
    const pastV = g.input(`v${l}`, 'float32', ['B', KV, 1, 'S', hd]);
    const [qHeads, kHeads, vHeads] = headsOf(h, l);
    const q = g.scale(g.reshape(qHeads, ['B', KV, H / KV, 1, hd]), weights.scoreScale);
    const [k, v] = [kHeads, vHeads].map((x) => g.reshape(x, ['B', KV, 1, 1, hd])) as [Value, Value];
    presentKv.push(g.reshape(kHeads, [1, 'B', KV * hd]), g.reshape(vHeads, [1, 'B', KV * hd]));
    // each query separately: a product of one row reads the cache in place, one of several rows packs it first
    const pastScores = g.add(g.fusedMatMul(q, pastK, { transB: true }), mask);
    const ownScore = g.reduceSum(g.mul(q, k), [4], true);
    const p = g.softmax(g.concat([pastScores, ownScore], 4));
    const mixed = g.fusedMatMul(g.slice(p, 4, 0, -1), pastV);
    return g.reshape(g.add(mixed, g.mul(g.slice(p, 4, -1, END), v)), ['B', H * hd]);
  };
  return finish(g, c, weights, ids, { attention }, presentKv, options.output);
}

/** q, k and v [N, heads·hd]. In models that have Qwen3's norm, it is applied to each head of q and k. */
export function normedQkv(
  g: Graph,
  c: DecoderConfig,
  weights: ModelWeights,
  h: Value,
  layer: number,
): [Value, Value, Value] {
  const [q, k, v] = weights.separate(h, layer, QKV) as [Value, Value, Value];
  if (!c.qkNorm) return [q, k, v];
  const normed = (x: Value, heads: number, side: 'q' | 'k'): Value => {
    const split = g.reshape(x, [h.shape[0]!, heads, c.headDim]);
    const scaled = g.rmsNorm(split, weights.scale(headNorm(layer, side), c.headDim), c.normEps);
    return g.reshape(scaled, [h.shape[0]!, heads * c.headDim]);
  };
  return [normed(q, c.heads, 'q'), normed(k, c.kvHeads, 'k'), v];
}

function finish(
  g: Graph,
  c: DecoderConfig,
  weights: ModelWeights,
  ids: Value,
  layers: Omit<LayerOptions, 'addAndNorm'>,
  presentKv: readonly Value[],
  output: OutputKind,
): Graph {
  const { hidden } = decoderLayers(g, c, weights, ids, {
    ...layers,
    addAndNorm: (x, y, scale) => g.skipRmsNorm(y, x, scale, c.normEps),
  });
  const logits = weights.logits(hidden);
  if (output === 'greedy') g.output('next', g.argMax(logits, 1));
  else if (output === 'logits') g.output('next', logits);
  else g.output('next', g.softmax(g.mul(logits, g.input('scale', 'float32', [1]))));
  g.output('kv', g.concat(presentKv, 0));
  return g;
}

/** @throws {GauntletError} BAD_MODEL if GroupQueryAttention does not support the size of the heads */
export function checkHeadSize({ headDim }: DecoderConfig): void {
  if (headDim % 8 !== 0)
    throw new GauntletError('BAD_MODEL', `config.json: head_dim must be a multiple of 8 to generate, is ${headDim}`);
}

/** The attention kernel rotates heads only if their size is a multiple of 16; other heads need a node of their own. */
export const ropeOutsideAttention = ({ headDim }: DecoderConfig): boolean => headDim % 16 !== 0;
