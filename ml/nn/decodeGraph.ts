// The graph of generation: new tokens of every row, one (a step) or many (a prompt, read after what is kept of the row).
// One graph can do both, as a large model's does. Caches are inputs, and only the keys and values of the
// new tokens come back: the caller writes them into its buffers (a fetched output is copied, an input is not).
//
// A row's result does not hang on its neighbours nor on the room in its cache: attention goes row by row over the places
// that are filled, and a product gives each row the same bits in any batch of two or more.
import { GauntletError } from '../../core/errors.js';
import { Graph } from '../ir/graph.js';
import { END, type Value } from '../ir/op.js';
import type { DecoderConfig } from './config.js';
import { type DecodeWeights, GATE_UP, QKV } from './decodeWeights.js';
import { ropeTables } from './rope.js';

/** What the mask adds to the score of a place that is not filled: its probability is exactly 0. */
export const MASKED = -1e9;

/** What is told of the next token: its logits, softmax(logits·scale), or the first of the likeliest. */
export type Choice = 'logits' | 'probabilities' | 'greedy';

/**
 * N = B·T new tokens of B rows, rows with fewer padded on the right; after a past, T = 1 or B = 1.
 * ids int64 [N], batch int64 [3] (B, T, −1), length int32 [B] (tokens of the row with the new ones, less one), longest
 * int32 [] (the largest of them, plus one), per layer k{l}, v{l} [B, KV, S, hd] with S at least the longest past, places
 * int64 [n, 3] (row, head, place: which keys and values to give back), last int64 [R] (indices into ids: after which tokens to tell the next);
 * scale [1] for probabilities; positions int64 [N, 1] where `rotatesApart`
 * → next: [R, vocab], or int64 [R] for greedy; kv [2·layers·n, hd].
 */
export function buildDecodeGraph(
  c: DecoderConfig,
  weightsOf: (g: Graph) => DecodeWeights,
  { positions, choice }: { positions: number; choice: Choice },
): Graph {
  const { kvHeads: KV, headDim: hd, heads: H } = c;
  if (hd % 8 !== 0)
    throw new GauntletError('BAD_MODEL', `config.json: head_dim must be a multiple of 8 to generate, is ${hd}`);
  const g = new Graph();
  const weights = weightsOf(g);
  const N = 'B·T';
  const ids = g.input('ids', 'int64', [N]);
  const batch = g.input('batch', 'int64', [3]);
  const length = g.input('length', 'int32', ['B']);
  const longest = g.input('longest', 'int32', []);
  const places = g.input('places', 'int64', ['n', 3]);
  const last = g.input('last', 'int64', ['R']);
  const tables = ropeTables(c, positions);
  const cos = g.constant('cos', [positions, hd / 2], tables.cos);
  const sin = g.constant('sin', [positions, hd / 2], tables.sin);
  const turned = rotatesApart(c) ? g.input('positions', 'int64', [N, 1]) : undefined;

  const headNorm = (x: Value, n: number, name: string): Value => {
    const normed = g.rmsNorm(g.reshape(x, [N, n, hd]), weights.scale(name, hd), c.normEps);
    return g.reshape(normed, [N, n * hd]);
  };
  const rotated = (x: Value, n: number): Value => {
    if (!turned) return x;
    return g.reshape(g.rotary(g.reshape(x, [N, n, 1, hd]), turned, cos, sin), [N, n * hd]);
  };
  const qkvOf = (x: Value, layer: number): Value => {
    if (!c.qkNorm && !turned) return weights.joined(x, layer, QKV);
    const [q, k, v] = weights.apart(x, layer, QKV) as [Value, Value, Value];
    const norm = `model.layers.${layer}.self_attn.`;
    const [nq, nk] = c.qkNorm
      ? [headNorm(q, H, `${norm}q_norm.weight`), headNorm(k, KV, `${norm}k_norm.weight`)]
      : [q, k];
    return g.concat([rotated(nq, H), rotated(nk, KV), v], 1);
  };

  const fresh: Value[] = [];
  const hidden = layersOf(g, c, weights, ids, last, (h, l) => {
    const pastK = g.input(`k${l}`, 'float32', ['B', KV, 'S', hd]);
    const pastV = g.input(`v${l}`, 'float32', ['B', KV, 'S', hd]);
    const qkv = g.reshape(qkvOf(h, l), ['B', 'T', (H + 2 * KV) * hd], batch);
    const inputs = [qkv, pastK, pastV, length, longest, ...(turned ? [] : [cos, sin])];
    const [mixed, k, v] = g.groupQueryAttention(inputs, { heads: H, kvHeads: KV, scale: weights.scoreScale });
    fresh.push(g.gatherND(k, places), g.gatherND(v, places));
    return g.reshape(mixed, [N, H * hd]);
  });
  g.output('next', chosen(g, weights.head(hidden), choice));
  g.output('kv', g.concat(fresh, 0));
  return g;
}

/**
 * Steps alone, faster for a small model: the kernel above copies every cache.
 * ids int64 [B], positions int64 [B, 1], mask [B, 1, 1, 1, S] (0 where a place is filled, else MASKED), per layer k{l},
 * v{l} [B, KV, 1, S, hd], finite everywhere, S a multiple of 16 (sums then do not depend on the room); scale [1] for
 * probabilities → next as above, R = B; kv [2·layers·B·KV, hd].
 */
export function buildStepGraph(
  c: DecoderConfig,
  weightsOf: (g: Graph) => DecodeWeights,
  { positions, choice }: { positions: number; choice: Choice },
): Graph {
  const { kvHeads: KV, headDim: hd, heads: H } = c;
  const G = H / KV;
  const g = new Graph();
  const weights = weightsOf(g);
  const ids = g.input('ids', 'int64', ['B']);
  const at = g.input('positions', 'int64', ['B', 1]);
  const mask = g.input('mask', 'float32', ['B', 1, 1, 1, 'S']);
  const tables = ropeTables(c, positions);
  const cos = g.constant('cos', [positions, hd / 2], tables.cos);
  const sin = g.constant('sin', [positions, hd / 2], tables.sin);
  const turn = (x: Value, n: number): Value => g.rotary(g.reshape(x, ['B', n, 1, hd]), at, cos, sin);
  const headsOf = (h: Value, layer: number): [q: Value, k: Value, v: Value] => {
    const norm = (x: Value, n: number, name: string): Value =>
      g.rmsNorm(g.reshape(x, ['B', n, 1, hd]), weights.scale(`model.layers.${layer}.self_attn.${name}`, hd), c.normEps);
    if (c.qkNorm) {
      const [q, k, v] = weights.apart(h, layer, QKV) as [Value, Value, Value];
      return [turn(norm(q, H, 'q_norm.weight'), H), turn(norm(k, KV, 'k_norm.weight'), KV), v];
    }
    const all = weights.joined(h, layer, QKV);
    const qk = turn(g.slice(all, 1, 0, (H + KV) * hd), H + KV);
    return [g.slice(qk, 1, 0, H), g.slice(qk, 1, H, H + KV), g.slice(all, 1, (H + KV) * hd, (H + 2 * KV) * hd)];
  };

  const fresh: Value[] = [];
  const hidden = layersOf(g, c, weights, ids, undefined, (h, l) => {
    const pastK = g.input(`k${l}`, 'float32', ['B', KV, 1, 'S', hd]);
    const pastV = g.input(`v${l}`, 'float32', ['B', KV, 1, 'S', hd]);
    const [turned, k, flat] = headsOf(h, l);
    const whole = g.reshape(turned, ['B', KV, G, 1, hd]);
    const q = weights.scoreScale === 1 ? whole : g.scale(whole, weights.scoreScale);
    const [kHead, v] = [k, flat].map((x) => g.reshape(x, ['B', KV, 1, 1, hd])) as [Value, Value];
    fresh.push(g.reshape(k, [1, 'B', KV * hd]), g.reshape(v, [1, 'B', KV * hd]));
    // every query by itself: a product of one row reads the cache as it lies, one of several rows packs it first
    const past = g.add(g.fusedMatMul(q, pastK, { transB: true }), mask);
    const own = g.reduceSum(g.mul(q, kHead), [4], true);
    const p = g.softmax(g.concat([past, own], 4));
    const mixed = g.fusedMatMul(g.slice(p, 4, 0, -1), pastV);
    return g.reshape(g.add(mixed, g.mul(g.slice(p, 4, -1, END), v)), ['B', H * hd]);
  });
  g.output('next', chosen(g, weights.head(hidden), choice));
  g.output('kv', g.concat(fresh, 0));
  return g;
}

/** All layers over rows [N, hidden], attention given; after the last one's only the rows `last` matter. */
function layersOf(
  g: Graph,
  c: DecoderConfig,
  weights: DecodeWeights,
  ids: Value,
  last: Value | undefined,
  attend: (h: Value, layer: number) => Value,
): Value {
  let x = weights.embed(ids);
  let h = g.rmsNorm(x, weights.scale('model.layers.0.input_layernorm.weight', c.hidden), c.normEps);
  const addAndNorm = (y: Value, name: string): void => {
    [h, x] = g.skipRmsNorm(y, x, weights.scale(name, c.hidden), c.normEps);
  };
  for (let l = 0; l < c.layers; l++) {
    let o = attend(h, l);
    if (last && l === c.layers - 1) {
      o = g.gather(o, last);
      x = g.gather(x, last);
    }
    addAndNorm(weights.joined(o, l, ['self_attn.o_proj']), `model.layers.${l}.post_attention_layernorm.weight`);
    const [gate, up] = weights.apart(h, l, GATE_UP) as [Value, Value];
    const down = weights.joined(g.mul(g.silu(gate), up), l, ['mlp.down_proj']);
    addAndNorm(down, l + 1 < c.layers ? `model.layers.${l + 1}.input_layernorm.weight` : 'model.norm.weight');
  }
  return h;
}

/** The attention kernel turns heads of sixteens only; for others a node of its own does. */
export const rotatesApart = ({ headDim }: DecoderConfig): boolean => headDim % 16 !== 0;

function chosen(g: Graph, logits: Value, choice: Choice): Value {
  if (choice === 'greedy') return g.argMax(logits, 1);
  return choice === 'logits' ? logits : g.softmax(g.mul(logits, g.input('scale', 'float32', [1])));
}
