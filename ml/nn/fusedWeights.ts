// The weights of a small model for generation. They are in memory, and the adapter is merged in. Matrices that multiply the same
// rows are fused into one, and the runtime reorders them once for its kernels. On a device, weights are inputs that all graphs
// share.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import type { DecoderConfig, Projection } from './config.js';
import { GATE_UP, type ModelWeights, QKV } from './layers.js';
import { hasBias, type LayoutEntry, layoutSize, parameterLayout, projectionShape } from './layout.js';
import { biasOf, EMBEDDING, fusedLoraName, HEAD, weightOf } from './tensorNames.js';

/** Stands for the name of a file: the session finds the bytes of `fuseWeights` under it. */
export const FUSED_WEIGHTS = 'fused-weights';

/** The groups of projections whose matrices are fused into one. */
export const GROUPS: readonly (readonly Projection[])[] = [QKV, ['self_attn.o_proj'], GATE_UP, ['mlp.down_proj']];
export const fusedLayout = (c: DecoderConfig): LayoutEntry[] => parameterLayout(c, GROUPS);

/** A tensor of graphs whose weights are inputs. It has the rows of its parts, one part after the other. */
export interface FusedInput {
  name: string; // the name of the first part
  shape: number[];
  parts: LayoutEntry[];
}

/** Training binds the parts as views, so no factor is folded into the queries as in `fuseWeights`. */
export function fusedInputs(c: DecoderConfig): FusedInput[] {
  const others = GROUPS.flatMap(([_, ...rest]) => rest.map((projection) => `.${projection}.`));
  const inputs: FusedInput[] = [];
  for (const part of fusedLayout(c)) {
    const { name, shape } = part;
    if (!others.some((projection) => name.includes(projection)))
      inputs.push({ name, shape: [...shape], parts: [part] });
    else {
      const input = inputs.at(-1)!;
      input.shape[0]! += shape[0]!;
      input.parts.push(part);
    }
  }
  return inputs;
}

/**
 * The bytes behind `FUSED_WEIGHTS`. A bias that the checkpoint lacks is zero. If 1/√hd is a power of two, it is folded
 * into the queries: no value is rounded differently, and the runtime has a faster kernel for products without a factor.
 */
export function fuseWeights(c: DecoderConfig, weights: ReadonlyMap<string, { data: Float32Array }>): Float32Array {
  const layout = fusedLayout(c);
  const flat = new Float32Array(layoutSize(layout));
  const scale = 1 / Math.sqrt(c.headDim);
  for (const { name, offset } of layout) {
    const data = weights.get(name)?.data ?? [];
    flat.set(scalesQueries(c) && determinesQueries(c, name) ? data.map((x) => x * scale) : data, offset);
  }
  return flat;
}

const scalesQueries = ({ headDim }: DecoderConfig): boolean => Number.isInteger(Math.log2(headDim) / 2);
/** Whether queries are proportional to this parameter. */
const determinesQueries = ({ qkNorm }: DecoderConfig, name: string): boolean =>
  qkNorm ? name.endsWith('.q_norm.weight') : name.includes('.q_proj.');

/** Weights that are inputs (`fusedInputs`). With a rank, there is an adapter beside them (`fuseAdapter`). */
export interface WeightInputs {
  type: 'float32' | 'float16' | 'bfloat16';
  rank?: number;
}

export class FusedWeights implements ModelWeights {
  readonly scoreScale: number;
  private readonly offsets: Map<string, number>;
  private readonly constants = new Map<string, Value>();

  /** @param inputs absent: the weights are the constants behind `FUSED_WEIGHTS` */
  constructor(
    private readonly g: Graph,
    private readonly c: DecoderConfig,
    private readonly inputs?: WeightInputs,
  ) {
    this.scoreScale = scalesQueries(c) && !inputs ? 1 : 1 / Math.sqrt(c.headDim);
    this.offsets = new Map(fusedLayout(c).map(({ name, offset }) => [name, offset]));
  }

  embed(ids: Value): Value {
    return this.g.gather(this.constant(EMBEDDING, [this.c.vocab, this.c.hidden]), ids);
  }
  scale(name: string, size: number): Value {
    return this.constant(name, [size]);
  }
  fused(x: Value, layer: number, projections: readonly Projection[]): Value {
    const first = weightOf(layer, projections[0]!);
    const out = projections.reduce((n, p) => n + projectionShape(this.c, p)[0], 0);
    const w = this.constant(first, [out, x.shape[1] as number]);
    const c = hasBias(this.c, projections) ? this.constant(biasOf(first), [out]) : undefined;
    const y = this.g.gemm(x, w, { transB: true, c });
    const { rank } = this.inputs ?? {};
    if (!rank) return y;
    const width = projections.length * rank;
    const a = this.constant(fusedLoraName(first, 'A'), [width, x.shape[1] as number]);
    const b = this.constant(fusedLoraName(first, 'B'), [out, width]);
    return this.g.gemm(this.g.gemm(x, a, { transB: true }), b, { transB: true, c: y });
  }
  separate(x: Value, layer: number, projections: readonly Projection[]): Value[] {
    const all = this.fused(x, layer, projections);
    const sizes = projections.map((p) => projectionShape(this.c, p)[0]);
    // one kernel for all parts; unequal ones would be copied by lists of pointers that come from the host
    if (this.inputs && sizes.every((size) => size === sizes[0])) return [...this.g.split(all, 1, sizes.length)];
    let end = 0;
    return sizes.map((size) => {
      const start = end;
      end += size;
      return this.g.slice(all, 1, start, end);
    });
  }
  logits(x: Value): Value {
    return this.g.gemm(x, this.constant(this.c.tied ? EMBEDDING : HEAD, [this.c.vocab, this.c.hidden]), {
      transB: true,
    });
  }

  /** Makes an input, or a constant whose numbers begin with those of the tensor `name` and fill the shape. */
  private constant(name: string, shape: readonly number[]): Value {
    const known = this.constants.get(name);
    if (known) return known;
    const value = this.inputs
      ? this.g.input(name, this.inputs.type, shape)
      : this.g.external(name, 'float32', shape, FUSED_WEIGHTS, 4 * this.offsets.get(name)!);
    this.constants.set(name, value);
    return value;
  }
}
