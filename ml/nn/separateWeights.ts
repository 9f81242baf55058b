// Weights in which every parameter has its own name. It is an input that each run feeds, so that one compiled graph serves any
// weights, or a constant that stays in its file. ONNX Runtime maps these files, so all graphs, threads and processes share one
// copy. LoRA tensors are always inputs.
import type { Graph } from '../ir/graph.js';
import type { DType, Value } from '../ir/op.js';
import type { DecoderConfig, Projection } from './config.js';
import { LoraDropout } from './dropout.js';
import type { ModelWeights } from './layers.js';
import { type LoraShape, projectionShape } from './layout.js';
import { biasOf, EMBEDDING, HEAD, loraName, weightOf } from './tensorNames.js';

/** The start of bytes in a file, which are little endian and row major. */
export interface FileRange {
  location: string; // the name of the file, relative to the folder that the session names
  offset: number; // the first byte
}
export interface StoredTensor extends FileRange {
  dtype: 'float32' | 'bfloat16' | 'float16';
}
/** A quantized matrix [out, in] with w = scale·(q − 2^(bits−1)) + minimum. Groups of `groupSize` weights of a row share both. */
export interface PackedTensor {
  bits: 4 | 8;
  groupSize: number;
  values: FileRange; // out·in·bits/8 bytes; the first of two 4-bit weights is in the low half of its byte
  scales: FileRange; // f32 [out, in/groupSize]
  zeros: FileRange; // 2^(bits−1) in `bits` bits, one per scale
  minima?: FileRange; // f32 [out, in/groupSize]; absent: they are 0
}
/** The parameters that stay in files, by name. All others are inputs. */
export type WeightLocations = ReadonlyMap<string, StoredTensor | PackedTensor>;

interface SeparateWeightsOptions {
  locations?: WeightLocations;
  /** Adds (alpha / rank)·(x·Aᵀ)·Bᵀ to all projections. */
  lora?: LoraShape;
  /** Multiply by packed matrices directly, which is fast for few rows, instead of unpacking them first. */
  packedMatMul?: boolean;
}

export class SeparateWeights implements ModelWeights {
  readonly scoreScale: number;
  /** The parameters that are inputs, by name. */
  readonly inputs = new Map<string, Value>();
  /** The LoRA tensors by name. */
  readonly adapter = new Map<string, Value>();
  private readonly stored = new Map<string, Value>();
  private readonly sums = new Map<Value, { groupSize: number; value: Value }>();
  private readonly locations: WeightLocations;
  private readonly dropout: LoraDropout | undefined;

  /** @param rows the number of rows of every x; only dropout needs it */
  constructor(
    private readonly g: Graph,
    private readonly c: DecoderConfig,
    private readonly options: SeparateWeightsOptions,
    rows = 0,
  ) {
    this.scoreScale = 1 / Math.sqrt(c.headDim);
    this.locations = options.locations ?? new Map();
    if (options.lora?.dropout) this.dropout = new LoraDropout(g, rows, options.lora.dropout);
  }

  embed(ids: Value): Value {
    // the cast converts the rows that are read, not the whole matrix
    return this.g.cast(this.g.gather(this.raw(EMBEDDING, this.embeddingShape), ids), 'float32');
  }
  scale(name: string, size: number): Value {
    return this.parameter(name, [size]);
  }
  fused(x: Value, layer: number, projections: readonly Projection[]): Value {
    return this.g.concat(this.separate(x, layer, projections), 1);
  }
  separate(x: Value, layer: number, projections: readonly Projection[]): Value[] {
    return projections.map((p) => this.projection(x, layer, p));
  }
  logits(x: Value): Value {
    return this.linear(x, this.headName, this.embeddingShape, false);
  }
  /** The output projection, [vocab, hidden]. */
  head(): Value {
    return this.parameter(this.headName, this.embeddingShape);
  }

  private get embeddingShape(): [number, number] {
    return [this.c.vocab, this.c.hidden];
  }
  private get headName(): string {
    return this.c.tied && !this.locations.has(HEAD) ? EMBEDDING : HEAD;
  }

  private projection(x: Value, layer: number, p: Projection): Value {
    const { g, adapter } = this;
    const { lora } = this.options;
    const [out, into] = projectionShape(this.c, p);
    const y = this.linear(x, weightOf(layer, p), [out, into], this.c.biases.includes(p));
    if (!lora) return y;
    const [nameA, nameB] = [loraName(layer, p, 'A'), loraName(layer, p, 'B')];
    const a = g.input(nameA, 'float32', [lora.rank, into]);
    const b = g.input(nameB, 'float32', [out, lora.rank]);
    adapter.set(nameA, a).set(nameB, b);
    const input = this.dropout ? this.dropout.apply(x, layer, p) : x;
    const alpha = lora.alpha / lora.rank / (1 - (lora.dropout ?? 0));
    return g.gemm(g.gemm(input, a, { transB: true }), b, { transB: true, alpha, c: y });
  }

  /** x·Wᵀ + b. x [n, in], W [out, in] */
  linear(x: Value, name: string, shape: readonly [number, number], bias: boolean): Value {
    const c = bias ? this.parameter(biasOf(name), [shape[0]]) : undefined;
    const location = this.locations.get(name);
    if (!this.options.packedMatMul || !location || !('bits' in location))
      return this.g.gemm(x, this.parameter(name, shape), { transB: true, c });
    const { bits, groupSize, values, scales } = location;
    const groups = groupsOf(shape, groupSize);
    const packed = this.external(name, 'uint8', [...groups, (groupSize * bits) / 8], values);
    const scale = this.external(`${name}.scales`, 'float32', groups, scales);
    const product = this.g.matMulNBits(x, packed, scale, bits, groupSize);
    const y = c ? this.g.add(product, c) : product;
    if (!location.minima) return y;
    // a minimum is added to each weight of its group, so it is multiplied by the sum of the group's inputs
    const minimum = this.external(`${name}.minima`, 'float32', groups, location.minima);
    return this.g.gemm(this.groupSums(x, groupSize), minimum, { transB: true, c: y });
  }

  /** [n, in] → [n, in/groupSize] */
  private groupSums(x: Value, groupSize: number): Value {
    const known = this.sums.get(x);
    if (known?.groupSize === groupSize) return known.value;
    const [n, into] = x.shape as [number, number];
    const value = this.g.reduceSum(this.g.reshape(x, [n, into / groupSize, groupSize]), [2], false);
    this.sums.set(x, { groupSize, value });
    return value;
  }

  /** The whole parameter in f32. */
  private parameter(name: string, shape: readonly number[]): Value {
    const location = this.locations.get(name);
    if (!location || !('bits' in location)) return this.g.cast(this.raw(name, shape), 'float32');
    const { bits, groupSize, values, scales, zeros, minima } = location;
    const dtype = bits === 4 ? 'uint4' : 'uint8';
    const groups = groupsOf(shape, groupSize);
    const scaled = this.g.dequantize(
      this.external(name, dtype, shape, values),
      this.external(`${name}.scales`, 'float32', groups, scales),
      this.external(`${name}.zeros`, dtype, groups, zeros),
      groupSize,
    );
    if (!minima) return scaled;
    const minimum = this.external(`${name}.minima`, 'float32', [...groups, 1], minima);
    return this.g.reshape(this.g.add(this.g.reshape(scaled, [...groups, groupSize]), minimum), [...shape]);
  }

  private raw(name: string, shape: readonly number[]): Value {
    const known = this.inputs.get(name);
    if (known) return known;
    const location = this.locations.get(name);
    if (location && 'bits' in location) throw new TypeError(`${name} is packed`);
    if (location) return this.external(name, location.dtype, shape, location);
    const value = this.g.input(name, 'float32', shape);
    this.inputs.set(name, value);
    return value;
  }

  private external(name: string, dtype: DType, shape: readonly number[], { location, offset }: FileRange): Value {
    const known = this.stored.get(name);
    if (known) return known;
    const value = this.g.external(name, dtype, shape, location, offset);
    this.stored.set(name, value);
    return value;
  }
}

const groupsOf = ([out, into]: readonly number[], groupSize: number): [number, number] => [out!, into! / groupSize];
