// Attention of new tokens whose keys and values go into caches [rows, KV, positions, hd] that stay in device memory.
//
// `grouped`: GroupQueryAttention, one kernel. ONNX Runtime has it for 16 bits on CUDA, and for float32 on a CPU.
// `scattered`: TensorScatter writes the caches, Attention (opset 24) reads them; also for float32 on CUDA.
import type { Graph } from '../ir/graph.js';
import type { Shape, Value } from '../ir/op.js';
import type { DecoderConfig } from './config.js';
import { normedQkv } from './decodeGraph.js';
import { type ModelWeights, QKV } from './layers.js';
import { ropeConstants } from './rope.js';

export type CacheAttention = 'grouped' | 'scattered';
export type CacheType = 'float32' | 'float16' | 'bfloat16';

/** The fastest attention that a device has. CUDA cannot record the join of normed q, k and v, which copies from the host. */
export const attentionFor = (c: DecoderConfig, device: 'cpu' | 'cuda', type: CacheType): CacheAttention =>
  device === 'cuda' && (type === 'float32' || c.qkNorm) ? 'scattered' : 'grouped';

interface Heads {
  q: Value; // [rows, H, tokens, hd]
  k: Value; // [rows, KV, tokens, hd]
  v: Value; // [rows, KV, tokens, hd]
}

/** The names of the caches of a graph: k0, v0, k1, … The names of outputs end with `.out`. */
export const cacheNames = ({ layers }: DecoderConfig): string[] =>
  Array.from({ length: layers }, (_, l) => [`k${l}`, `v${l}`]).flat();

/** Adds an input that is also an output: the caller binds the same memory to both. */
export function inPlace(
  g: Graph,
  name: string,
  type: Value['dtype'],
  shape: Shape,
  update: (old: Value) => Value,
): void {
  g.output(`${name}.out`, update(g.input(name, type, shape)), { direct: true });
}

export class CachedHeads {
  private readonly tables: [cos: Value, sin: Value];

  /** @param positions the length of the caches, and so the number of rows of the rotary tables */
  constructor(
    private readonly g: Graph,
    private readonly c: DecoderConfig,
    private readonly weights: ModelWeights,
    type: CacheType,
    positions: number,
  ) {
    const [cos, sin] = ropeConstants(g, c, positions);
    this.tables = [g.cast(cos, type), g.cast(sin, type)];
  }

  /**
   * Inputs of GroupQueryAttention: q, k and v side by side, and the tables if the kernel shall rotate.
   * @param h [n, hidden] @param positions of the tokens, int64 [n, 1], if the kernel cannot rotate (ropeOutsideAttention)
   */
  packed(h: Value, layer: number, positions?: Value): { qkv: Value; tables: Value[] } {
    const { g, c } = this;
    const tables = positions ? [] : this.tables;
    if (!positions && !c.qkNorm) return { qkv: this.weights.fused(h, layer, QKV), tables };
    const [q, k, v] = normedQkv(g, c, this.weights, h, layer);
    const n = h.shape[0]!;
    const rotated = (x: Value, heads: number): Value => {
      if (!positions) return x;
      const turned = g.rotary(g.reshape(x, [n, heads, 1, c.headDim]), positions, ...this.tables);
      return g.reshape(turned, [n, heads * c.headDim]);
    };
    return { qkv: g.concat([rotated(q, c.heads), rotated(k, c.kvHeads), v], 1), tables };
  }

  /** Inputs of Attention: rotated heads of one token a row. @param h [rows, hidden] @param positions int64 [rows, 1] */
  ofStep(h: Value, layer: number, positions: Value): Heads {
    const { g, c } = this;
    const split = (x: Value, heads: number): Value => g.reshape(x, [h.shape[0]!, heads, 1, c.headDim]);
    const rotated = (x: Value, heads: number): Value => g.rotary(split(x, heads), positions, ...this.tables);
    if (c.qkNorm) {
      const [q, k, v] = normedQkv(g, c, this.weights, h, layer);
      return { q: rotated(q, c.heads), k: rotated(k, c.kvHeads), v: split(v, c.kvHeads) };
    }
    const all = this.weights.fused(h, layer, QKV);
    const both = c.heads + c.kvHeads;
    const qk = rotated(g.slice(all, 1, 0, both * c.headDim), both);
    const v = g.slice(all, 1, both * c.headDim, (both + c.kvHeads) * c.headDim);
    return { q: g.slice(qk, 1, 0, c.heads), k: g.slice(qk, 1, c.heads, both), v: split(v, c.kvHeads) };
  }

  /** Inputs of Attention: rotated heads of sequences from their start. @param batch int64 [3] (rows, length, −1) */
  ofSequences(h: Value, layer: number, [rows, length]: readonly [string, string], batch: Value): Heads {
    const { g, c } = this;
    const start = g.indices([0]);
    const split = (x: Value, heads: number): Value => {
      const together = g.reshape(x, [rows, length, heads * c.headDim], batch);
      return g.transpose(g.reshape(together, [rows, length, heads, c.headDim]), [0, 2, 1, 3]);
    };
    const rotated = (x: Value, heads: number): Value => g.rotary(split(x, heads), start, ...this.tables);
    const [q, k, v] = normedQkv(g, c, this.weights, h, layer);
    return { q: rotated(q, c.heads), k: rotated(k, c.kvHeads), v: split(v, c.kvHeads) };
  }
}
