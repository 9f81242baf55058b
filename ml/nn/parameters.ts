// How a graph gets its parameters: as inputs that every run feeds (any weights, merged or trained, in one compiled
// graph), or as constants that stay in their files and are mapped into memory (one copy for all graphs, threads and
// processes), there in full or in few bits. The layers ask by name and never know which.
import type { Graph } from '../ir/graph.js';
import type { DType, Value } from '../ir/op.js';
import { bytesOf } from '../ir/op.js';

/** Bytes of a file: little endian, row major. */
export interface FileRange {
  location: string; // file name, relative to the folder that the session is told
  offset: number; // in bytes
}
export interface StoredTensor extends FileRange {
  dtype: 'float32' | 'bfloat16' | 'float16';
}
/** A matrix [out, in] in few bits: w = scale·(q − 2^(bits−1)), one scale for every `groupSize` weights of a row. */
export interface PackedTensor {
  bits: 4 | 8;
  groupSize: number;
  values: FileRange; // out·in·bits/8 bytes; of two weights in a byte the first is in the low half
  scales: FileRange; // f32 [out, in/groupSize]
  zeros: FileRange; // 2^(bits−1) in `bits` bits, once for every scale
}
/** What is not in the plan is an input. */
export type ParameterPlan = ReadonlyMap<string, StoredTensor | PackedTensor>;

/** An output projection in few bits, also of a model whose projection is its embedding. */
export const HEAD = 'lm_head.weight';

export class Parameters {
  /** Those that are inputs, by name. */
  readonly inputs = new Map<string, Value>();
  private readonly stored = new Map<string, Value>();

  /** @param packedProducts multiply packed matrices as they are (fast for few rows), instead of unpacking them first */
  constructor(
    private readonly g: Graph,
    private readonly plan: ParameterPlan = new Map(),
    private readonly packedProducts = false,
  ) {}

  /** The whole parameter in f32. */
  get(name: string, shape: readonly number[]): Value {
    const kept = this.plan.get(name);
    if (!kept || !('bits' in kept)) return this.g.cast(this.raw(name, shape), 'float32');
    const { bits, groupSize, values, scales, zeros } = kept;
    const dtype = bits === 4 ? 'uint4' : 'uint8';
    const groups = groupsOf(shape, groupSize);
    return this.g.dequantize(
      this.external(name, dtype, shape, values),
      this.external(`${name}.scales`, 'float32', groups, scales),
      this.external(`${name}.zeros`, dtype, groups, zeros),
      groupSize,
    );
  }

  /** Rows of a matrix, in f32, without converting the others. ids int64 [n] → [n, width] */
  rows(name: string, shape: readonly number[], ids: Value): Value {
    return this.g.cast(this.g.gather(this.raw(name, shape), ids), 'float32');
  }

  /** x·Wᵀ + b. x [n, in], W [out, in] */
  linear(x: Value, name: string, shape: readonly [number, number], bias: boolean): Value {
    const c = bias ? this.get(`${name}.bias`, [shape[0]]) : undefined;
    const weight = `${name}.weight`;
    const kept = this.plan.get(weight);
    if (!this.packedProducts || !kept || !('bits' in kept))
      return this.g.gemm(x, this.get(weight, shape), { transB: true, c });
    const { bits, groupSize, values, scales } = kept;
    const groups = groupsOf(shape, groupSize);
    const packed = this.external(weight, 'uint8', [...groups, (groupSize * bits) / 8], values);
    const scale = this.external(`${weight}.scales`, 'float32', groups, scales);
    const y = this.g.matMulNBits(x, packed, scale, bits, groupSize);
    return c ? this.g.add(y, c) : y;
  }

  /** Name of the output projection's parameter. */
  headName(tied: boolean): string {
    return tied && !this.plan.has(HEAD) ? 'model.embed_tokens.weight' : HEAD;
  }

  private raw(name: string, shape: readonly number[]): Value {
    const known = this.inputs.get(name);
    if (known) return known;
    const kept = this.plan.get(name);
    if (kept && 'bits' in kept) throw new TypeError(`${name} is packed`);
    if (kept) return this.external(name, kept.dtype, shape, kept);
    const value = this.g.input(name, 'float32', shape);
    this.inputs.set(name, value);
    return value;
  }

  private external(name: string, dtype: DType, shape: readonly number[], { location, offset }: FileRange): Value {
    const known = this.stored.get(name);
    if (known) return known;
    const length = bytesOf(
      dtype,
      shape.reduce((a, b) => a * b, 1),
    );
    const value = this.g.external(name, dtype, shape, location, offset, length);
    this.stored.set(name, value);
    return value;
  }
}

const groupsOf = ([out, into]: readonly number[], groupSize: number): [number, number] => [out!, into! / groupSize];
