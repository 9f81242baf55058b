// The two graphs of generation: `prefill` reads whole prompts, `decode` adds one token to every row. Weights are inputs,
// so a LoRA-merged copy needs no new session. Caches are inputs too: the decode graph gives only the new keys and values
// back, as one small tensor, and the caller writes them into its buffers (a fetched output is copied, an input is not).
//
// A row's result must not depend on its neighbours or on padding. Padding never reaches a sum: masked scores become
// exp(−1e9) = 0, and a prompt is padded on the right, where a causal mask already hides it.
import { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import { type DecoderConfig, ropeTables } from './decoder.js';

export const MASKED = -1e9;

class Decoder {
  readonly graph = new Graph();
  private readonly weights = new Map<string, Value>();
  private readonly cos: Value;
  private readonly sin: Value;

  constructor(
    readonly c: DecoderConfig,
    positions: number,
  ) {
    const tables = ropeTables(c, positions);
    this.cos = this.graph.constant('cos', [positions, c.headDim / 2], tables.cos);
    this.sin = this.graph.constant('sin', [positions, c.headDim / 2], tables.sin);
  }
  weight(name: string, shape: number[]): Value {
    let value = this.weights.get(name);
    if (!value) {
      value = this.graph.input(name, 'float32', shape);
      this.weights.set(name, value);
    }
    return value;
  }
  /** x [n, in] → [n, out] with the weight [out, in] of the checkpoint. */
  linear(x: Value, name: string, out: number, bias = false): Value {
    const w = this.weight(`${name}.weight`, [out, x.shape[1] as number]);
    return this.graph.gemm(x, w, { transB: true, c: bias ? this.weight(`${name}.bias`, [out]) : undefined });
  }
  norm(x: Value, name: string): Value {
    return this.graph.rmsNorm(x, this.weight(`${name}.weight`, [this.c.hidden]), this.c.normEps);
  }
  embed(ids: Value): Value {
    return this.graph.gather(this.weight('model.embed_tokens.weight', [this.c.vocab, this.c.hidden]), ids);
  }
  rotate(x: Value, positions: Value): Value {
    return this.graph.rotary(x, positions, this.cos, this.sin);
  }
  mlp(x: Value, layer: string): Value {
    const h = this.norm(x, `${layer}post_attention_layernorm`);
    const gate = this.graph.silu(this.linear(h, `${layer}mlp.gate_proj`, this.c.ffn));
    const up = this.linear(h, `${layer}mlp.up_proj`, this.c.ffn);
    return this.graph.add(x, this.linear(this.graph.mul(gate, up), `${layer}mlp.down_proj`, this.c.hidden));
  }
  logits(x: Value): Value {
    const head = this.c.tied ? 'model.embed_tokens' : 'lm_head';
    return this.linear(this.norm(x, 'model.norm'), head, this.c.vocab);
  }
}

/**
 * One step of `B` rows (symbolic) over caches of `slots` places.
 * ids int64 [B], positions int64 [B, 1], mask [B, 1, 1, slots] (0 or MASKED), per layer k{l}, v{l} [B, KV, slots, hd];
 * a place that is masked must hold finite values in k and zeros in v.
 * → logits [B, vocab], kv [2·layers, B, KV·hd]: key and value of each layer, to be written at `positions`.
 */
export function buildDecodeGraph(c: DecoderConfig, slots: number): Graph {
  const net = new Decoder(c, slots);
  const g = net.graph;
  const { kvHeads: KV, headDim: hd } = c;
  const G = c.heads / KV;
  const ids = g.input('ids', 'int64', ['B']);
  const positions = g.input('positions', 'int64', ['B', 1]);
  const mask = g.input('mask', 'float32', ['B', 1, 1, slots]);
  let x = net.embed(ids);
  const fresh: Value[] = [];
  for (let l = 0; l < c.layers; l++) {
    const layer = `model.layers.${l}.`;
    const h = net.norm(x, `${layer}input_layernorm`);
    const heads = (name: string, n: number) =>
      g.reshape(net.linear(h, `${layer}self_attn.${name}_proj`, n * hd, true), ['B', n, 1, hd]);
    const q = g.reshape(net.rotate(heads('q', c.heads), positions), ['B', KV, G, hd]);
    const k = net.rotate(heads('k', KV), positions);
    const v = heads('v', KV);
    fresh.push(g.reshape(k, [1, 'B', KV * hd]), g.reshape(v, [1, 'B', KV * hd]));
    const pastK = g.input(`k${l}`, 'float32', ['B', KV, slots, hd]);
    const pastV = g.input(`v${l}`, 'float32', ['B', KV, slots, hd]);
    const alpha = 1 / Math.sqrt(hd);
    const past = g.add(g.fusedMatMul(q, pastK, { transB: true, alpha }), mask);
    const own = g.fusedMatMul(q, k, { transB: true, alpha });
    const p = g.softmax(g.concat([past, own], 3));
    const fromPast = g.fusedMatMul(g.slice(p, 3, 0, slots), pastV);
    const mixed = g.add(fromPast, g.mul(g.slice(p, 3, slots, slots + 1), v));
    x = g.add(x, net.linear(g.reshape(mixed, ['B', c.heads * hd]), `${layer}self_attn.o_proj`, c.hidden));
    x = net.mlp(x, layer);
  }
  g.output('logits', net.logits(x));
  g.output('kv', g.concat(fresh, 0));
  return g;
}

/**
 * `rows` prompts of up to `length` tokens, padded on the right.
 * ids int64 [rows·length], last int64 [rows] (index into ids of each prompt's last token)
 * → logits [rows, vocab] after the last token, kv [2·layers·rows, KV, length, hd].
 */
export function buildPrefillGraph(c: DecoderConfig, rows: number, length: number): Graph {
  const net = new Decoder(c, length);
  const g = net.graph;
  const { kvHeads: KV, headDim: hd, heads: H } = c;
  const G = H / KV;
  const N = rows * length;
  const ids = g.input('ids', 'int64', [N]);
  const last = g.input('last', 'int64', [rows]);
  const start = g.indices([0]); // positions count from zero in every row
  const causal = new Float32Array(length * length);
  for (let i = 0; i < length; i++) causal.fill(MASKED, i * length + i + 1, (i + 1) * length);
  const mask = g.constant('causal', [length, length], causal);
  let x = net.embed(ids);
  const caches: Value[] = [];
  for (let l = 0; l < c.layers; l++) {
    const layer = `model.layers.${l}.`;
    const h = net.norm(x, `${layer}input_layernorm`);
    const heads = (name: string, n: number) => {
      const y = net.linear(h, `${layer}self_attn.${name}_proj`, n * hd, true);
      return g.transpose(g.reshape(y, [rows, length, n, hd]), [0, 2, 1, 3]);
    };
    const q = net.rotate(heads('q', H), start);
    const k = net.rotate(heads('k', KV), start);
    const v = heads('v', KV);
    caches.push(k, v);
    const scores = g.fusedMatMul(g.reshape(q, [rows, KV, G * length, hd]), k, {
      transB: true,
      alpha: 1 / Math.sqrt(hd),
    });
    const p = g.softmax(g.add(g.reshape(scores, [rows, H, length, length]), mask));
    const mixed = g.fusedMatMul(g.reshape(p, [rows, KV, G * length, length]), v);
    let o = g.reshape(g.transpose(g.reshape(mixed, [rows, H, length, hd]), [0, 2, 1, 3]), [N, H * hd]);
    if (l === c.layers - 1) {
      o = g.gather(o, last); // after the last layer's keys and values only the last token matters
      x = g.gather(x, last);
    }
    x = g.add(x, net.linear(o, `${layer}self_attn.o_proj`, c.hidden));
    x = net.mlp(x, layer);
  }
  g.output('logits', net.logits(x));
  g.output('kv', g.concat(caches, 0));
  return g;
}
