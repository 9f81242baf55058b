// How the graph of generation gets its weights. A small model's lie in memory, an adapter merged in, matrices that
// multiply the same rows joined into one; the runtime reorders them once for its kernels. A large model's stay in their
// files, or in few bits, and an adapter is added to every product.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import type { DecoderConfig, Projection } from './config.js';
import { type LayoutEntry, layOut, layoutSize, loraName, projectionShape } from './lora.js';
import { type ParameterPlan, Parameters } from './parameters.js';

export const QKV = ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'] as const;
export const GATE_UP = ['mlp.gate_proj', 'mlp.up_proj'] as const;
/** Projections of the same rows, in the order of the layer. */
const GROUPS: readonly (readonly Projection[])[] = [QKV, ['self_attn.o_proj'], GATE_UP, ['mlp.down_proj']];

const EMBEDDING = 'model.embed_tokens.weight';
const weightOf = (layer: number, projection: Projection): string => `model.layers.${layer}.${projection}.weight`;
const biasOf = (layer: number, projection: Projection): string => `model.layers.${layer}.${projection}.bias`;

export interface DecodeWeights {
  /** By what attention has to multiply its scores. */
  readonly scoreScale: number;
  /** Rows of the embedding. ids [n] → [n, hidden] */
  embed(ids: Value): Value;
  /** The scale of a norm, [size]. */
  scale(name: string, size: number): Value;
  /** x·Wᵀ + b of each projection, x [n, in] → [n, out] */
  apart(x: Value, layer: number, projections: readonly Projection[]): Value[];
  /** The same, side by side in one value. */
  joined(x: Value, layer: number, projections: readonly Projection[]): Value;
  /** x [n, hidden] → logits [n, vocab] */
  head(x: Value): Value;
}

/** Where the file of joined weights would be: a session is given its bytes instead. */
export const JOINED = 'joined-weights';

/** Names of the checkpoint, joined matrices one after the other. A group has biases for all of it, or none. */
export function joinedLayout(c: DecoderConfig): LayoutEntry[] {
  const tensors: [string, number[]][] = [[EMBEDDING, [c.vocab, c.hidden]]];
  for (let l = 0; l < c.layers; l++) {
    const layer = `model.layers.${l}.`;
    tensors.push([`${layer}input_layernorm.weight`, [c.hidden]]);
    for (const group of GROUPS) {
      for (const p of group) tensors.push([weightOf(l, p), projectionShape(c, p)]);
      if (hasBias(c, group)) for (const p of group) tensors.push([biasOf(l, p), [projectionShape(c, p)[0]]]);
    }
    tensors.push([`${layer}post_attention_layernorm.weight`, [c.hidden]]);
    if (c.qkNorm) for (const n of ['q', 'k']) tensors.push([`${layer}self_attn.${n}_norm.weight`, [c.headDim]]);
  }
  tensors.push(['model.norm.weight', [c.hidden]]);
  if (!c.tied) tensors.push(['lm_head.weight', [c.vocab, c.hidden]]);
  return layOut(tensors);
}

/**
 * The bytes behind `JOINED`; a bias that the checkpoint lacks is zero. Where 1/√hd is a power of two, queries have it
 * already: that rounds nothing differently, and of products without a factor the runtime has a faster kernel.
 */
export function joinWeights(c: DecoderConfig, weights: ReadonlyMap<string, { data: Float32Array }>): Float32Array {
  const layout = joinedLayout(c);
  const flat = new Float32Array(layoutSize(layout));
  const scale = 1 / Math.sqrt(c.headDim);
  for (const { name, offset } of layout) {
    const data = weights.get(name)?.data ?? [];
    flat.set(scalesQueries(c) && makesQueries(c, name) ? data.map((x) => x * scale) : data, offset);
  }
  return flat;
}

const scalesQueries = ({ headDim }: DecoderConfig): boolean => Number.isInteger(Math.log2(headDim) / 2);
/** Whether queries are proportional to this parameter. */
const makesQueries = ({ qkNorm }: DecoderConfig, name: string): boolean =>
  qkNorm ? name.endsWith('.q_norm.weight') : name.includes('.q_proj.');

const hasBias = (c: DecoderConfig, group: readonly Projection[]): boolean => group.some((p) => c.biases.includes(p));

/** Weights of a small model, constants at `JOINED`. */
export class JoinedWeights implements DecodeWeights {
  readonly scoreScale: number;
  private readonly places: Map<string, LayoutEntry>;
  private readonly made = new Map<string, Value>();

  constructor(
    private readonly g: Graph,
    private readonly c: DecoderConfig,
  ) {
    this.scoreScale = scalesQueries(c) ? 1 : 1 / Math.sqrt(c.headDim);
    this.places = new Map(joinedLayout(c).map((entry) => [entry.name, entry]));
  }

  embed(ids: Value): Value {
    return this.g.gather(this.constant(EMBEDDING, [this.c.vocab, this.c.hidden]), ids);
  }
  scale(name: string, size: number): Value {
    return this.constant(name, [size]);
  }
  joined(x: Value, layer: number, projections: readonly Projection[]): Value {
    const first = projections[0]!;
    const rows = projections.reduce((n, p) => n + projectionShape(this.c, p)[0], 0);
    const w = this.constant(weightOf(layer, first), [rows, x.shape[1] as number]);
    const c = hasBias(this.c, projections) ? this.constant(biasOf(layer, first), [rows]) : undefined;
    return this.g.gemm(x, w, { transB: true, c });
  }
  apart(x: Value, layer: number, projections: readonly Projection[]): Value[] {
    const all = this.joined(x, layer, projections);
    if (projections.length === 1) return [all];
    let start = 0;
    return projections.map((p) => {
      const from = start;
      start += projectionShape(this.c, p)[0];
      return this.g.slice(all, 1, from, start);
    });
  }
  head(x: Value): Value {
    const name = this.c.tied ? EMBEDDING : 'lm_head.weight';
    return this.g.gemm(x, this.constant(name, [this.c.vocab, this.c.hidden]), { transB: true });
  }

  /** As many numbers as the shape holds, from the first of `name` on. */
  private constant(name: string, shape: readonly number[]): Value {
    let value = this.made.get(name);
    if (!value) {
      const length = shape.reduce((a, b) => a * b, 1);
      value = this.g.external(name, 'float32', shape, JOINED, 4 * this.places.get(name)!.offset, 4 * length);
      this.made.set(name, value);
    }
    return value;
  }
}

/** Weights of a large model, where the plan says; LoRA tensors are inputs under their PEFT names. */
export class PlannedWeights implements DecodeWeights {
  readonly scoreScale: number;
  private readonly parameters: Parameters;

  constructor(
    private readonly g: Graph,
    private readonly c: DecoderConfig,
    plan: ParameterPlan,
    private readonly lora?: { rank: number; alpha: number },
  ) {
    this.scoreScale = 1 / Math.sqrt(c.headDim);
    this.parameters = new Parameters(g, plan, true);
  }

  embed(ids: Value): Value {
    return this.parameters.rows(EMBEDDING, [this.c.vocab, this.c.hidden], ids);
  }
  scale(name: string, size: number): Value {
    return this.parameters.get(name, [size]);
  }
  joined(x: Value, layer: number, projections: readonly Projection[]): Value {
    return this.g.concat(this.apart(x, layer, projections), 1);
  }
  apart(x: Value, layer: number, projections: readonly Projection[]): Value[] {
    const { g, lora } = this;
    return projections.map((p) => {
      const [out, into] = projectionShape(this.c, p);
      const y = this.parameters.linear(x, `model.layers.${layer}.${p}`, [out, into], this.c.biases.includes(p));
      if (!lora) return y;
      const a = g.input(loraName(layer, p, 'A'), 'float32', [lora.rank, into]);
      const b = g.input(loraName(layer, p, 'B'), 'float32', [out, lora.rank]);
      return g.gemm(g.gemm(x, a, { transB: true }), b, { transB: true, alpha: lora.alpha / lora.rank, c: y });
    });
  }
  head(x: Value): Value {
    const name = this.parameters.headName(this.c.tied).replace(/\.weight$/, '');
    return this.parameters.linear(x, name, [this.c.vocab, this.c.hidden], false);
  }
}
