// A graph for one step of decoding that needs nothing from the host: every row reads its token, writes its caches, samples the next
// token and records it. All sizes are constant, so a row does not depend on the number of rows in use, and CUDA can replay a
// recorded graph. The host runs chunks of `steps` steps.
import { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import { type CacheAttention, CachedHeads, type CacheType, inPlace } from './cacheAttention.js';
import type { DecoderConfig } from './config.js';
import { ropeOutsideAttention, type WeightsOf } from './decodeGraph.js';
import { decoderLayers } from './layers.js';
import { type GraphSampling, sampleTokens } from './samplingGraph.js';

export interface StepGraphOptions {
  rows: number;
  positions: number; // the length of the caches
  steps: number; // the length of a chunk
  attention: CacheAttention;
  sampling: GraphSampling;
  type?: CacheType; // the type of weights and caches; default float32
}

/** The outputs `NAME.out` become the inputs NAME of the next step. */
export const STATE = ['token', 'position', 'limit', 'step'] as const;
/** What an ended row records. */
export const NO_TOKEN = -1;
/** The number in `ends` of a token that ends an answer. It counts as this many steps, so the row reaches its limit. */
export const STOP = 2 ** 31;

/**
 * Inputs and outputs that are the same memory: k{l}, v{l} [rows, KV, positions, hd], emitted int64 [steps, rows] (row `step`
 * is written: the token, NO_TOKEN for an ended row, or NOT_FINITE).
 * Inputs and outputs that alternate between two buffers, because a runtime that records a graph runs it several times:
 * token int64 [rows], the last one, whose keys and values are not in the caches yet; position int64 [rows], where they go; limit int64
 * [rows], the number of steps after which the row ends (0: ended before the chunk); step int64 [1].
 * Inputs: ends int64 [vocab] (STOP or 0); unless greedy, uniforms float64 [steps, rows] in (0, 1), and those of
 * `sampleTokens`; the weights, as `weightsOf` says. A row that has ended stays at the
 * position after its last one, which must exist, and writes only there.
 */
export function buildSamplingStep(c: DecoderConfig, weightsOf: WeightsOf, options: StepGraphOptions): Graph {
  const { rows, positions, steps, sampling, type = 'float32' } = options;
  const g = new Graph();
  const weights = weightsOf(g);
  const token = g.input('token', 'int64', [rows]);
  const position = g.input('position', 'int64', [rows]);
  const limit = g.input('limit', 'int64', [rows]);
  const step = g.input('step', 'int64', [1]);
  const heads = new CachedHeads(g, c, weights, type, positions);
  const update = { grouped, scattered }[options.attention](g, c, heads, position, weights.scoreScale, positions);
  const { hidden } = decoderLayers(g, c, weights, token, {
    attention(h, layer) {
      const shape = [rows, c.kvHeads, positions, c.headDim];
      const [mixed, k, v] = update(h, layer, g.input(`k${layer}`, type, shape), g.input(`v${layer}`, type, shape));
      g.output(`k${layer}.out`, k, { direct: true });
      g.output(`v${layer}.out`, v, { direct: true });
      return g.reshape(mixed, [rows, c.heads * c.headDim]);
    },
    addAndNorm: (x, y, scale) => g.skipRmsNorm(y, x, scale, c.normEps),
  });
  const logits = g.cast(weights.logits(hidden), 'float32');
  const uniforms = sampling.greedy ? undefined : g.input('uniforms', 'float64', [steps, rows]);
  const next = sampleTokens(g, logits, sampling, uniforms && g.reshape(g.gather(uniforms, step), [rows, 1]));

  const one = g.indices([1]);
  const nextStep = g.add(step, one);
  const ended = g.lessOrEqual(limit, step); // before this step
  const count = g.add(nextStep, g.gather(g.input('ends', 'int64', [c.vocab]), next));
  const emitted = g.reshape(g.where(ended, g.indices([NO_TOKEN]), next), [1, rows]);
  inPlace(g, 'emitted', 'int64', [steps, rows], (all) => g.replaceND(all, g.reshape(step, [1, 1]), emitted));
  const state = {
    token: next,
    position: g.where(ended, position, g.add(position, one)),
    limit: g.where(g.lessOrEqual(limit, count), g.indices([0]), limit),
    step: nextStep,
  };
  for (const name of STATE) g.output(`${name}.out`, state[name], { direct: true });
  return g;
}

/** [mixed, keys, values]: [rows, …] with the heads of a row in one line, and the caches with the new position. */
type Update = (h: Value, layer: number, k: Value, v: Value) => [Value, Value, Value];
type UpdateOf = (
  g: Graph,
  c: DecoderConfig,
  heads: CachedHeads,
  position: Value,
  scale: number,
  positions: number,
) => Update;

const grouped: UpdateOf = (g, c, heads, position, scale, positions) => {
  const last = g.cast(position, 'int32');
  const places = g.constant('places', [], Int32Array.of(positions)); // constant, because the kernel splits its sums by it
  const column = ropeOutsideAttention(c) ? g.reshape(position, [position.shape[0]!, 1]) : undefined;
  return (h, layer, k, v) => {
    const { qkv, tables } = heads.packed(h, layer, column);
    const tokens = g.reshape(qkv, [qkv.shape[0]!, 1, qkv.shape[1]!]);
    return g.groupQueryAttention([tokens, k, v, last, places, ...tables], {
      heads: c.heads,
      kvHeads: c.kvHeads,
      scale,
    });
  };
};

const scattered: UpdateOf = (g, _, heads, position, scale) => {
  const column = g.reshape(position, [position.shape[0]!, 1]);
  const filled = g.add(position, g.indices([1]));
  return (h, layer, k, v) => {
    const fresh = heads.ofStep(h, layer, column);
    const [keys, values] = [g.tensorScatter(k, fresh.k, position), g.tensorScatter(v, fresh.v, position)];
    return [g.attention(fresh.q, keys, values, scale, { causal: false, filled }), keys, values];
  };
};
