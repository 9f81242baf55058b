// A tensor program in single-assignment form, and its builder: every call infers the shape of what it makes, so a
// graph that was built is a graph whose shapes fit.
import type { ConstantData, Dim, DType, InlineData, Node, NodeOf, Op, OpAttributes, Shape, Value } from './op.js';
import { sizeOf } from './op.js';
import { inferTypes } from './shapes.js';

export class Graph {
  readonly nodes: Node[] = [];
  readonly inputs: Value[] = [];
  readonly outputs: { name: string; value: Value }[] = [];
  readonly constants = new Map<Value, ConstantData>();
  private readonly names = new Set<string>();
  private readonly shared = new Map<string, Value>();
  private counter = 0;

  private value(name: string, dtype: DType, shape: Shape): Value {
    if (this.names.has(name)) throw new TypeError(`the name ${name} is taken`);
    this.names.add(name);
    return { name, dtype, shape };
  }
  private fresh(prefix: string): string {
    return `${prefix}_${this.counter++}`;
  }

  // ---- what a graph holds
  input(name: string, dtype: DType, shape: Shape): Value {
    const value = this.value(name, dtype, shape);
    this.inputs.push(value);
    return value;
  }
  /** `packed`: bytes of two numbers each, the first in the low half. */
  constant(name: string, shape: readonly number[], data: InlineData, packed = false): Value {
    const length = packed ? 2 * data.length : data.length;
    if (length !== sizeOf(shape)) throw new TypeError(`${name}: ${length} values do not fill [${shape.join(', ')}]`);
    const value = this.value(name, packed ? 'uint4' : dtypeOf(data), shape);
    this.constants.set(value, { kind: 'inline', data });
    return value;
  }
  /** A constant that stays in its file: `length` bytes at `offset` of `location`. */
  external(
    name: string,
    dtype: DType,
    shape: readonly number[],
    location: string,
    offset: number,
    length: number,
  ): Value {
    const value = this.value(name, dtype, shape);
    this.constants.set(value, { kind: 'external', location, offset, length });
    return value;
  }
  /** A number of no dimension, made once per graph. */
  scalar(x: number): Value {
    return this.once(`f${x}`, () => this.constant(this.fresh('scalar'), [], Float32Array.of(x)));
  }
  /** A one-dimensional int64 constant, made once per graph. */
  indices(list: readonly number[]): Value {
    return this.once(`i${list.join()}`, () =>
      this.constant(this.fresh('indices'), [list.length], BigInt64Array.from(list, BigInt)),
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
  output(name: string, value: Value): void {
    if (this.outputs.some((o) => o.name === name)) throw new TypeError(`there are two outputs ${name}`);
    this.outputs.push({ name, value });
  }
  /** Drops the nodes that no output needs. */
  prune(): void {
    const needed = new Set(this.outputs.map((o) => o.value));
    const kept: Node[] = [];
    for (const node of [...this.nodes].reverse()) {
      if (!node.outputs.some((v) => needed.has(v))) continue;
      for (const input of node.inputs) needed.add(input);
      kept.push(node);
    }
    this.nodes.splice(0, this.nodes.length, ...kept.reverse());
  }

  // ---- operations
  apply<K extends Op>(op: K, inputs: readonly Value[], attrs: OpAttributes[K]): readonly Value[] {
    const outputs = inferTypes(op, inputs, attrs).map((t) => this.value(this.fresh(op), t.dtype, t.shape));
    const node: NodeOf<K> = { op, attrs, inputs, outputs };
    this.nodes.push(node as unknown as Node);
    return outputs;
  }
  private one<K extends Op>(op: K, inputs: readonly Value[], attrs: OpAttributes[K]): Value {
    return this.apply(op, inputs, attrs)[0]!;
  }

  add(a: Value, b: Value): Value {
    return this.one('Add', [a, b], {});
  }
  sub(a: Value, b: Value): Value {
    return this.one('Sub', [a, b], {});
  }
  mul(a: Value, b: Value): Value {
    return this.one('Mul', [a, b], {});
  }
  div(a: Value, b: Value): Value {
    return this.one('Div', [a, b], {});
  }
  min(a: Value, b: Value): Value {
    return this.one('Min', [a, b], {});
  }
  lessOrEqual(a: Value, b: Value): Value {
    return this.one('LessOrEqual', [a, b], {});
  }
  neg(x: Value): Value {
    return this.one('Neg', [x], {});
  }
  exp(x: Value): Value {
    return this.one('Exp', [x], {});
  }
  log(x: Value): Value {
    return this.one('Log', [x], {});
  }
  sqrt(x: Value): Value {
    return this.one('Sqrt', [x], {});
  }
  sigmoid(x: Value): Value {
    return this.one('Sigmoid', [x], {});
  }
  silu(x: Value): Value {
    return this.one('QuickGelu', [x], { alpha: 1 });
  }
  clip(x: Value, min: number, max: number): Value {
    return this.one('Clip', [x], { min, max });
  }
  identity(x: Value): Value {
    return this.one('Identity', [x], {});
  }
  cast(x: Value, to: DType): Value {
    return x.dtype === to ? x : this.one('Cast', [x], { to });
  }
  scale(x: Value, factor: number): Value {
    return factor === 1 ? x : this.mul(x, this.scalar(factor));
  }
  matMul(a: Value, b: Value): Value {
    return this.one('MatMul', [a, b], {});
  }
  fusedMatMul(a: Value, b: Value, o: { transA?: boolean; transB?: boolean; alpha?: number } = {}): Value {
    return this.one('FusedMatMul', [a, b], {
      transA: o.transA ?? false,
      transB: o.transB ?? false,
      alpha: o.alpha ?? 1,
    });
  }
  gemm(a: Value, b: Value, o: { transA?: boolean; transB?: boolean; alpha?: number; c?: Value } = {}): Value {
    const attrs = { transA: o.transA ?? false, transB: o.transB ?? false, alpha: o.alpha ?? 1 };
    return this.one('Gemm', o.c ? [a, b, o.c] : [a, b], attrs);
  }
  dequantize(q: Value, scale: Value, zero: Value, blockSize: number): Value {
    return this.one('DequantizeLinear', [q, scale, zero], { blockSize });
  }
  matMulNBits(x: Value, q: Value, scale: Value, bits: 4 | 8, blockSize: number): Value {
    return this.one('MatMulNBits', [x, q, scale], { bits, blockSize });
  }
  softmax(x: Value): Value {
    return this.one('Softmax', [x], {});
  }
  logSoftmax(x: Value): Value {
    return this.one('LogSoftmax', [x], {});
  }
  rmsNorm(x: Value, scale: Value, epsilon: number): Value {
    return this.one('SimplifiedLayerNormalization', [x, scale], { epsilon });
  }
  /** [RMSNorm of x + skip, x + skip] */
  skipRmsNorm(x: Value, skip: Value, scale: Value, epsilon: number): [Value, Value] {
    return this.apply('SkipSimplifiedLayerNormalization', [x, skip, scale], { epsilon }) as unknown as [Value, Value];
  }
  /** [mixed, keys, values]; see op.ts. */
  groupQueryAttention(
    inputs: readonly Value[],
    attrs: { heads: number; kvHeads: number; scale: number },
  ): [Value, Value, Value] {
    return this.apply('GroupQueryAttention', inputs, attrs) as unknown as [Value, Value, Value];
  }
  rotary(x: Value, positions: Value, cos: Value, sin: Value): Value {
    return this.one('RotaryEmbedding', [x, positions, cos, sin], { heads: x.shape[1] as number });
  }
  /** @param sizes int64 [rank]: the sizes at run time, where they do not follow from those of x */
  reshape(x: Value, shape: Shape, sizes?: Value): Value {
    return this.one('Reshape', sizes ? [x, sizes] : [x], { shape });
  }
  transpose(x: Value, perm: readonly number[]): Value {
    return this.one('Transpose', [x], { perm });
  }
  slice(x: Value, axis: number, start: number, end: number): Value {
    return this.one('Slice', [x], { axis, start, end });
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
  gatherND(data: Value, indices: Value): Value {
    return this.one('GatherND', [data, indices], {});
  }
  scatterElements(data: Value, indices: Value, updates: Value, axis: number): Value {
    return this.one('ScatterElements', [data, indices, updates], { axis });
  }
  scatterND(data: Value, indices: Value, updates: Value): Value {
    return this.one('ScatterND', [data, indices, updates], {});
  }
}

function dtypeOf(data: InlineData): DType {
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof BigInt64Array) return 'int64';
  return data instanceof Int32Array ? 'int32' : 'uint8';
}
