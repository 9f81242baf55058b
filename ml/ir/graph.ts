// A tensor program in single-assignment form, and its builder. Every call infers the shape of its result, so the shapes of
// a graph always fit.
import type { ConstantData, Dim, DType, InlineData, Node, NodeOf, Op, OpAttributes, Shape, Value } from './op.js';
import { bytesOf, sizeOf } from './op.js';
import { inferTypes } from './shapes.js';

export class Graph {
  readonly nodes: Node[] = [];
  readonly inputs: Value[] = [];
  readonly outputs: { name: string; value: Value; direct: boolean }[] = [];
  readonly constants = new Map<Value, ConstantData>();
  private readonly names = new Set<string>();
  private readonly shared = new Map<string, Value>();
  private counter = 0;

  private value(name: string, dtype: DType, shape: Shape): Value {
    if (this.names.has(name)) throw new TypeError(`the name ${name} is taken`);
    this.names.add(name);
    return { name, dtype, shape };
  }
  private uniqueName(prefix: string): string {
    return `${prefix}_${this.counter++}`;
  }

  // ---- contents
  input(name: string, dtype: DType, shape: Shape): Value {
    const value = this.value(name, dtype, shape);
    this.inputs.push(value);
    return value;
  }
  /** @param packed two 4-bit numbers per byte, the first in the low half */
  constant(name: string, shape: readonly number[], data: InlineData, packed = false): Value {
    const length = packed ? 2 * data.length : data.length;
    if (length !== sizeOf(shape)) throw new TypeError(`${name}: ${length} values do not fill [${shape.join(', ')}]`);
    const value = this.value(name, packed ? 'uint4' : dtypeOf(data), shape);
    this.constants.set(value, { kind: 'inline', data });
    return value;
  }
  /** A constant that stays in its file: the bytes of `shape` at `offset` of `location`. */
  external(name: string, dtype: DType, shape: readonly number[], location: string, offset: number): Value {
    const value = this.value(name, dtype, shape);
    const length = bytesOf(dtype, sizeOf(shape));
    this.constants.set(value, { kind: 'external', location, offset, length });
    return value;
  }
  /** A zero-dimensional number, created once per graph. */
  scalar(x: number): Value {
    return this.once(`f${x}`, () => this.constant(this.uniqueName('scalar'), [], Float32Array.of(x)));
  }
  /** A one-dimensional int64 constant, created once per graph. */
  indices(list: readonly number[]): Value {
    return this.once(`i${list.join()}`, () =>
      this.constant(this.uniqueName('indices'), [list.length], BigInt64Array.from(list, BigInt)),
    );
  }
  private once(key: string, make: () => Value): Value {
    const value = this.shared.get(key) ?? make();
    this.shared.set(key, value);
    return value;
  }
  zeros(shape: readonly number[]): Value {
    return this.expand(this.scalar(0), shape);
  }
  /**
   * @param direct the node of the value writes the output itself, perhaps in place; the value cannot be a second output.
   * Otherwise the output is a copy.
   */
  output(name: string, value: Value, { direct = false } = {}): void {
    if (this.outputs.some((o) => o.name === name)) throw new TypeError(`there are two outputs ${name}`);
    if (direct && (this.inputs.includes(value) || this.constants.has(value)))
      throw new TypeError(`${value.name} is an input or a constant, which no node writes`);
    this.outputs.push({ name, value, direct });
  }
  /** Drops the nodes and constants that no output needs. @param inputs drop such inputs, too */
  prune({ inputs = false } = {}): void {
    const needed = new Set(this.outputs.map((o) => o.value));
    const nodes: Node[] = [];
    for (const node of [...this.nodes].reverse()) {
      if (!node.outputs.some((v) => needed.has(v))) continue;
      for (const input of node.inputs) needed.add(input);
      nodes.push(node);
    }
    this.nodes.splice(0, this.nodes.length, ...nodes.reverse());
    for (const constant of this.constants.keys()) if (!needed.has(constant)) this.constants.delete(constant);
    if (inputs) this.inputs.splice(0, this.inputs.length, ...this.inputs.filter((input) => needed.has(input)));
  }

  // ---- operations
  apply<K extends Op>(op: K, inputs: readonly Value[], attrs: OpAttributes[K]): readonly Value[] {
    const outputs = inferTypes(op, inputs, attrs).map((t) => this.value(this.uniqueName(op), t.dtype, t.shape));
    const node: NodeOf<K> = { op, attrs, inputs, outputs };
    this.nodes.push(node as unknown as Node);
    return outputs;
  }
  private one<K extends Op>(op: K, inputs: readonly Value[], attrs: OpAttributes[K]): Value {
    return this.apply(op, inputs, attrs)[0]!;
  }
  private unary(op: 'Neg' | 'Exp' | 'Sigmoid' | 'Softmax' | 'LogSoftmax'): (x: Value) => Value {
    return (x) => this.one(op, [x], {});
  }
  private binary(
    op: 'Add' | 'Sub' | 'Mul' | 'Min' | 'LessOrEqual' | 'MatMul' | 'GatherND',
  ): (a: Value, b: Value) => Value {
    return (a, b) => this.one(op, [a, b], {});
  }

  readonly add = this.binary('Add');
  readonly sub = this.binary('Sub');
  readonly mul = this.binary('Mul');
  readonly min = this.binary('Min');
  readonly lessOrEqual = this.binary('LessOrEqual');
  readonly matMul = this.binary('MatMul');
  readonly gatherND = this.binary('GatherND');
  readonly neg = this.unary('Neg');
  readonly exp = this.unary('Exp');
  readonly sigmoid = this.unary('Sigmoid');
  readonly softmax = this.unary('Softmax');
  readonly logSoftmax = this.unary('LogSoftmax');

  silu(x: Value): Value {
    return this.one('QuickGelu', [x], { alpha: 1 });
  }
  where(condition: Value, a: Value, b: Value): Value {
    return this.one('Where', [condition, a, b], {});
  }
  cumSum(x: Value, axis: number): Value {
    return this.one('CumSum', [x], { axis });
  }
  /** @returns [values, positions] of the k largest or smallest numbers of the last axis, the best first */
  topK(x: Value, k: number, largest = true): [Value, Value] {
    return this.apply('TopK', [x], { k, largest }) as unknown as [Value, Value];
  }
  clip(x: Value, min: number, max: number): Value {
    return this.one('Clip', [x], { min, max });
  }
  cast(x: Value, to: DType): Value {
    return x.dtype === to ? x : this.one('Cast', [x], { to });
  }
  scale(x: Value, factor: number): Value {
    return factor === 1 ? x : this.mul(x, this.scalar(factor));
  }
  fusedMatMul(a: Value, b: Value, o: { transA?: boolean; transB?: boolean; alpha?: number } = {}): Value {
    return this.one('FusedMatMul', [a, b], { transA: false, transB: false, alpha: 1, ...o });
  }
  gemm(a: Value, b: Value, o: { transA?: boolean; transB?: boolean; alpha?: number; c?: Value } = {}): Value {
    const { c, ...attrs } = { transA: false, transB: false, alpha: 1, ...o };
    return this.one('Gemm', c ? [a, b, c] : [a, b], attrs);
  }
  dequantize(q: Value, scale: Value, zero: Value, blockSize: number): Value {
    return this.one('DequantizeLinear', [q, scale, zero], { blockSize });
  }
  matMulNBits(x: Value, q: Value, scale: Value, bits: 4 | 8, blockSize: number): Value {
    return this.one('MatMulNBits', [x, q, scale], { bits, blockSize });
  }
  rmsNorm(x: Value, scale: Value, epsilon: number): Value {
    return this.one('SimplifiedLayerNormalization', [x, scale], { epsilon });
  }
  /** @returns [RMSNorm of x + skip, x + skip] */
  skipRmsNorm(x: Value, skip: Value, scale: Value, epsilon: number): [Value, Value] {
    return this.apply('SkipSimplifiedLayerNormalization', [x, skip, scale], { epsilon }) as unknown as [Value, Value];
  }
  /** @returns [mixed, keys, values], see op.ts */
  groupQueryAttention(inputs: readonly Value[], attrs: OpAttributes['GroupQueryAttention']): [Value, Value, Value] {
    return this.apply('GroupQueryAttention', inputs, attrs) as unknown as [Value, Value, Value];
  }
  tensorScatter(cache: Value, fresh: Value, start: Value): Value {
    return this.one('TensorScatter', [cache, fresh, start], {});
  }
  /** @param o.filled int64 [B], the number of keys that a row has; absent: all */
  attention(q: Value, k: Value, v: Value, scale: number, o: { causal: boolean; filled?: Value }): Value {
    return this.one('Attention', o.filled ? [q, k, v, o.filled] : [q, k, v], { scale, causal: o.causal });
  }
  rotary(x: Value, positions: Value, cos: Value, sin: Value): Value {
    return this.one('RotaryEmbedding', [x, positions, cos, sin], { heads: x.shape[1] as number });
  }
  /** @param sizes int64 [rank]: the sizes at run time, if they do not follow from those of x */
  reshape(x: Value, shape: Shape, sizes?: Value): Value {
    return this.one('Reshape', sizes ? [x, sizes] : [x], { shape });
  }
  transpose(x: Value, perm: readonly number[]): Value {
    return this.one('Transpose', [x], { perm });
  }
  slice(x: Value, axis: number, start: number, end: number): Value {
    return this.one('Slice', [x], { axis, start, end });
  }
  split(x: Value, axis: number, parts: number): readonly Value[] {
    return this.apply('Split', [x], { axis, parts });
  }
  concat(parts: readonly Value[], axis: number): Value {
    return parts.length === 1 ? parts[0]! : this.one('Concat', parts, { axis });
  }
  expand(x: Value, shape: readonly Dim[]): Value {
    return this.one('Expand', [x], { shape });
  }
  reduceSum(x: Value, axes: readonly number[], keepDims: boolean): Value {
    return this.one('ReduceSum', [x], { axes, keepDims });
  }
  reduceMean(x: Value, axes: readonly number[], keepDims: boolean): Value {
    return this.one('ReduceMean', [x], { axes, keepDims });
  }
  argMax(x: Value, axis: number, keepDims = false): Value {
    return this.one('ArgMax', [x], { axis, keepDims });
  }
  gather(data: Value, indices: Value, axis = 0): Value {
    return this.one('Gather', [data, indices], { axis });
  }
  gatherElements(data: Value, indices: Value, axis: number): Value {
    return this.one('GatherElements', [data, indices], { axis });
  }
  scatterElements(data: Value, indices: Value, updates: Value, axis: number): Value {
    return this.one('ScatterElements', [data, indices, updates], { axis });
  }
  scatterND(data: Value, indices: Value, updates: Value): Value {
    return this.one('ScatterND', [data, indices, updates], { add: true });
  }
  /** Like scatterND, but replaces instead of adding. */
  replaceND(data: Value, indices: Value, updates: Value): Value {
    return this.one('ScatterND', [data, indices, updates], { add: false });
  }
}

/** The type that an array holds. Arrays of bytes hold uint8. */
export function dtypeOf(data: InlineData): DType {
  if (data instanceof Float64Array) return 'float64';
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof BigInt64Array) return 'int64';
  return data instanceof Int32Array ? 'int32' : 'uint8';
}
