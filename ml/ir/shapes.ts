// Shape and type rules: what each operation accepts and what comes out. Used when a graph is built and again, from
// nothing but the stored nodes, by the verifier.
import type { Dim, DType, Op, OpAttributes, Shape } from './op.js';
import { END, isStatic, sameShape } from './op.js';

export interface TensorType {
  readonly dtype: DType;
  readonly shape: Shape;
}
export type ShapeRule<K extends Op> = (inputs: readonly TensorType[], attrs: OpAttributes[K]) => TensorType[];

function fail(op: string, why: string): never {
  throw new TypeError(`${op}: ${why}`);
}
const show = (t: TensorType): string => `${t.dtype}[${t.shape.join(', ')}]`;

function arity(op: string, inputs: readonly TensorType[], low: number, high = low): void {
  if (inputs.length < low || inputs.length > high)
    fail(op, `takes ${low}${high > low ? `–${high}` : ''} inputs, got ${inputs.length}`);
}
function floats(op: string, inputs: readonly TensorType[]): void {
  for (const t of inputs) if (t.dtype !== 'float32') fail(op, `takes float32, got ${show(t)}`);
}
function integers(op: string, t: TensorType): void {
  if (t.dtype !== 'int64' && t.dtype !== 'int32') fail(op, `takes integer indices, got ${show(t)}`);
}

export function axisOf(op: string, axis: number, rank: number): number {
  const positive = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(axis) || positive < 0 || positive >= rank)
    fail(op, `axis ${axis} is outside a rank of ${rank}`);
  return positive;
}

/** NumPy broadcasting; a symbolic size matches itself and 1. */
export function broadcast(op: string, a: Shape, b: Shape): Dim[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = a[a.length - rank + i] ?? 1;
    const y = b[b.length - rank + i] ?? 1;
    if (x === y || y === 1) return x;
    if (x === 1) return y;
    return fail(op, `cannot broadcast [${a.join(', ')}] with [${b.join(', ')}]`);
  });
}

const unary =
  (op: string) =>
  (inputs: readonly TensorType[]): TensorType[] => {
    arity(op, inputs, 1);
    floats(op, inputs);
    return [{ dtype: 'float32', shape: inputs[0]!.shape }];
  };
const binary =
  (op: string) =>
  (inputs: readonly TensorType[]): TensorType[] => {
    arity(op, inputs, 2);
    floats(op, inputs);
    return [{ dtype: 'float32', shape: broadcast(op, inputs[0]!.shape, inputs[1]!.shape) }];
  };

/** As `binary`, of two float32 or two int32. */
const arithmetic =
  (op: string, dtype?: DType) =>
  (inputs: readonly TensorType[]): TensorType[] => {
    arity(op, inputs, 2);
    const [a, b] = inputs as [TensorType, TensorType];
    if (a.dtype !== 'int32' || b.dtype !== 'int32') floats(op, inputs);
    return [{ dtype: dtype ?? a.dtype, shape: broadcast(op, a.shape, b.shape) }];
  };

function matrixSides(op: string, shape: Shape, transpose: boolean): [Dim, Dim] {
  if (shape.length < 2) fail(op, `takes matrices, got [${shape.join(', ')}]`);
  const [rows, columns] = shape.slice(-2) as [Dim, Dim];
  return transpose ? [columns, rows] : [rows, columns];
}
function product(op: string, a: Shape, b: Shape, transA: boolean, transB: boolean): [Dim, Dim] {
  const [m, k] = matrixSides(op, a, transA);
  const [k2, n] = matrixSides(op, b, transB);
  if (k !== k2) fail(op, `inner sizes ${k} and ${k2} differ for [${a.join(', ')}] and [${b.join(', ')}]`);
  return [m, n];
}

function groupsOf(op: string, size: Dim, blockSize: number): number {
  if (typeof size !== 'number' || size % blockSize !== 0) fail(op, `groups of ${blockSize} do not divide ${size}`);
  return (size as number) / blockSize;
}

const reduce =
  (op: string) =>
  (inputs: readonly TensorType[], attrs: { axes: readonly number[]; keepDims: boolean }): TensorType[] => {
    arity(op, inputs, 1);
    floats(op, inputs);
    const { shape } = inputs[0]!;
    const axes = attrs.axes.map((a) => axisOf(op, a, shape.length));
    const out = attrs.keepDims
      ? shape.map((d, i) => (axes.includes(i) ? 1 : d))
      : shape.filter((_, i) => !axes.includes(i));
    return [{ dtype: 'float32', shape: out }];
  };

/** A size of the form `name+3`, kept as text: adding to a symbolic size stays symbolic. */
export function addDims(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  return `${a}+${b}`;
}

/** How many axes the rows of `indices` address. */
function depthOf(op: string, data: TensorType, indices: TensorType): number {
  integers(op, indices);
  const [, depth] = indices.shape;
  if (indices.shape.length !== 2 || typeof depth !== 'number' || depth > data.shape.length)
    fail(op, `indices must be [n, w] for w axes of ${show(data)}, got ${show(indices)}`);
  return depth as number;
}

export const SHAPE_RULES: { readonly [K in Op]: ShapeRule<K> } = {
  Add: arithmetic('Add'),
  Sub: binary('Sub'),
  Mul: arithmetic('Mul'),
  Div: binary('Div'),
  Min: binary('Min'),
  LessOrEqual: arithmetic('LessOrEqual', 'bool'),
  Neg: unary('Neg'),
  Exp: unary('Exp'),
  Log: unary('Log'),
  Sqrt: unary('Sqrt'),
  Sigmoid: unary('Sigmoid'),
  QuickGelu: unary('QuickGelu'),
  Clip: unary('Clip'),
  DequantizeLinear: (inputs, { blockSize }) => {
    arity('DequantizeLinear', inputs, 3);
    const [q, scale, zero] = inputs as [TensorType, TensorType, TensorType];
    floats('DequantizeLinear', [scale]);
    if (q.dtype !== 'uint4' && q.dtype !== 'uint8') fail('DequantizeLinear', `takes uint4 or uint8, got ${show(q)}`);
    const groups = [...q.shape.slice(0, -1), groupsOf('DequantizeLinear', q.shape.at(-1)!, blockSize)];
    if (!sameShape(scale.shape, groups) || !sameShape(zero.shape, groups) || zero.dtype !== q.dtype)
      fail('DequantizeLinear', `scale ${show(scale)} and zero ${show(zero)} do not fit ${show(q)}`);
    return [{ dtype: 'float32', shape: q.shape }];
  },
  MatMulNBits: (inputs, { bits, blockSize }) => {
    arity('MatMulNBits', inputs, 3);
    const [x, q, scale] = inputs as [TensorType, TensorType, TensorType];
    floats('MatMulNBits', [x, scale]);
    const groups = groupsOf('MatMulNBits', x.shape.at(-1)!, blockSize);
    const out = scale.shape[0]!;
    if (q.dtype !== 'uint8' || !sameShape(q.shape, [out, groups, (blockSize * bits) / 8]))
      fail('MatMulNBits', `packed weights ${show(q)} do not fit ${show(x)}`);
    if (!sameShape(scale.shape, [out, groups])) fail('MatMulNBits', `scale ${show(scale)} does not fit ${show(x)}`);
    return [{ dtype: 'float32', shape: [...x.shape.slice(0, -1), out] }];
  },
  Softmax: unary('Softmax'),
  LogSoftmax: unary('LogSoftmax'),
  ReduceSum: reduce('ReduceSum'),
  ReduceMean: reduce('ReduceMean'),
  Identity: (inputs) => {
    arity('Identity', inputs, 1);
    return [{ ...inputs[0]! }];
  },
  Cast: (inputs, { to }) => {
    arity('Cast', inputs, 1);
    return [{ dtype: to, shape: inputs[0]!.shape }];
  },
  MatMul: (inputs) => {
    arity('MatMul', inputs, 2);
    floats('MatMul', inputs);
    const [a, b] = [inputs[0]!.shape, inputs[1]!.shape];
    const sides = product('MatMul', a, b, false, false);
    if (b.length > 2 && !sameShape(a.slice(0, -2), b.slice(0, -2))) fail('MatMul', 'leading sizes differ');
    return [{ dtype: 'float32', shape: [...a.slice(0, -2), ...sides] }];
  },
  FusedMatMul: (inputs, { transA, transB }) => {
    arity('FusedMatMul', inputs, 2);
    floats('FusedMatMul', inputs);
    const [a, b] = [inputs[0]!.shape, inputs[1]!.shape];
    const sides = product('FusedMatMul', a, b, transA, transB);
    const [leadA, leadB] = [a.slice(0, -2), b.slice(0, -2)];
    if (leadA.length !== leadB.length || !leadB.every((d, i) => d === 1 || d === leadA[i]))
      fail('FusedMatMul', 'leading sizes differ');
    return [{ dtype: 'float32', shape: [...a.slice(0, -2), ...sides] }];
  },
  Gemm: (inputs, { transA, transB }) => {
    arity('Gemm', inputs, 2, 3);
    floats('Gemm', inputs);
    const [a, b, c] = inputs;
    if (a!.shape.length !== 2 || b!.shape.length !== 2) fail('Gemm', 'takes two-dimensional matrices');
    const shape = product('Gemm', a!.shape, b!.shape, transA, transB);
    if (c && !sameShape(broadcast('Gemm', c.shape, shape), shape))
      fail('Gemm', `c ${show(c)} does not fit [${shape.join(', ')}]`);
    return [{ dtype: 'float32', shape }];
  },
  SimplifiedLayerNormalization: (inputs) => {
    const op = 'SimplifiedLayerNormalization';
    arity(op, inputs, 2);
    floats(op, inputs);
    const [x, scale] = [inputs[0]!.shape, inputs[1]!.shape];
    if (scale.length !== 1 || scale[0] !== x.at(-1))
      fail(op, `scale [${scale.join(', ')}] does not fit [${x.join(', ')}]`);
    return [
      { dtype: 'float32', shape: x },
      { dtype: 'float32', shape: [...x.slice(0, -1), 1] },
    ];
  },
  SkipSimplifiedLayerNormalization: (inputs) => {
    const op = 'SkipSimplifiedLayerNormalization';
    arity(op, inputs, 3);
    floats(op, inputs);
    const [x, skip, scale] = inputs as [TensorType, TensorType, TensorType];
    if (!sameShape(x.shape, skip.shape)) fail(op, `${show(skip)} is not like ${show(x)}`);
    if (!sameShape(scale.shape, x.shape.slice(-1))) fail(op, `scale ${show(scale)} does not fit ${show(x)}`);
    return [x, x];
  },
  GroupQueryAttention: (inputs, { heads, kvHeads }) => {
    const op = 'GroupQueryAttention';
    if (inputs.length !== 7) arity(op, inputs, 5);
    const [qkv, k, v, last, places, ...tables] = inputs as [TensorType, TensorType, TensorType, TensorType, TensorType];
    floats(op, [qkv, k, v, ...tables]);
    const [rows, , width] = qkv.shape;
    const size = k.shape[3];
    if (typeof size !== 'number' || qkv.shape.length !== 3 || width !== (heads + 2 * kvHeads) * size)
      fail(op, `${show(qkv)} does not hold ${heads} + 2·${kvHeads} heads of ${size}`);
    if (!sameShape(k.shape, [rows!, kvHeads, k.shape[2]!, size as number]) || !sameShape(k.shape, v.shape))
      fail(op, `a past of ${show(k)} and ${show(v)} does not fit ${show(qkv)}`);
    if (
      last.dtype !== 'int32' ||
      !sameShape(last.shape, [rows!]) ||
      places.dtype !== 'int32' ||
      places.shape.length > 0
    )
      fail(op, `takes int32 lengths [${rows}] and [], got ${show(last)} and ${show(places)}`);
    for (const table of tables as TensorType[])
      if (table.shape[1] !== (size as number) / 2) fail(op, `tables must be [max, ${size}/2], got ${show(table)}`);
    const present: TensorType = { dtype: 'float32', shape: [rows!, kvHeads, 'present', size as number] };
    return [{ dtype: 'float32', shape: [rows!, qkv.shape[1]!, heads * (size as number)] }, present, present];
  },
  RotaryEmbedding: (inputs, { heads }) => {
    const op = 'RotaryEmbedding';
    arity(op, inputs, 4);
    const [x, positions, cos, sin] = inputs as [TensorType, TensorType, TensorType, TensorType];
    floats(op, [x, cos, sin]);
    integers(op, positions);
    if (x.shape.length !== 4 || x.shape[1] !== heads) fail(op, `takes [B, ${heads}, T, hd], got ${show(x)}`);
    const half = x.shape[3];
    if (typeof half !== 'number' || half % 2 !== 0) fail(op, `needs an even head size, got ${half}`);
    if (!sameShape(cos.shape, sin.shape) || cos.shape.length !== 2 || cos.shape[1] !== half / 2)
      fail(op, 'cos and sin must be [max, hd/2]');
    const one = positions.shape.length === 1 && positions.shape[0] === 1;
    if (!one && !sameShape(positions.shape, [x.shape[0]!, x.shape[2]!]))
      fail(op, `positions ${show(positions)} are neither [1] nor [B, T]`);
    return [{ dtype: 'float32', shape: x.shape }];
  },
  Reshape: (inputs, { shape }) => {
    arity('Reshape', inputs, 1, 2);
    const [from, sizes] = inputs as [TensorType, TensorType?];
    if (sizes && (sizes.dtype !== 'int64' || !sameShape(sizes.shape, [shape.length])))
      fail('Reshape', `takes int64[${shape.length}] as sizes, got ${show(sizes)}`);
    const numbers = (s: Shape): number => s.reduce<number>((n, d) => (typeof d === 'number' ? n * d : n), 1);
    const symbols = (s: Shape): string =>
      s
        .filter((d) => typeof d === 'string')
        .sort()
        .join('·');
    if (numbers(from.shape) !== numbers(shape) || symbols(from.shape) !== symbols(shape)) {
      fail('Reshape', `${show(from)} does not fill [${shape.join(', ')}]`);
    }
    return [{ dtype: from.dtype, shape }];
  },
  Transpose: (inputs, { perm }) => {
    arity('Transpose', inputs, 1);
    const { dtype, shape } = inputs[0]!;
    if (perm.length !== shape.length || ![...perm].sort((a, b) => a - b).every((p, i) => p === i)) {
      fail('Transpose', `[${perm.join(', ')}] does not permute ${show(inputs[0]!)}`);
    }
    return [{ dtype, shape: perm.map((p) => shape[p]!) }];
  },
  Slice: (inputs, { axis, start, end }) => {
    arity('Slice', inputs, 1);
    const { dtype, shape } = inputs[0]!;
    const at = axisOf('Slice', axis, shape.length);
    const size = shape[at]!;
    const sliced = (d: Dim): TensorType[] => [{ dtype, shape: shape.map((old, i) => (i === at ? d : old)) }];
    if (typeof size === 'string') {
      const [name, count] = [size.slice(0, size.lastIndexOf('+')), Number(size.slice(size.lastIndexOf('+') + 1))];
      if (start === 0 && end === -count) return sliced(name);
      if (start === -count && end === END) return sliced(count);
    }
    if (typeof size !== 'number' || start < 0 || end > size || start >= end)
      fail('Slice', `${start}..${end} is not inside ${size}`);
    return sliced(end - start);
  },
  Concat: (inputs, { axis }) => {
    if (inputs.length === 0) fail('Concat', 'takes at least one input');
    const { dtype, shape } = inputs[0]!;
    const at = axisOf('Concat', axis, shape.length);
    for (const t of inputs) {
      if (
        t.dtype !== dtype ||
        t.shape.length !== shape.length ||
        !t.shape.every((d, i) => i === at || d === shape[i])
      ) {
        fail('Concat', `${show(t)} does not join ${show(inputs[0]!)} on axis ${at}`);
      }
    }
    const total = inputs.slice(1).reduce<Dim>((sum, t) => addDims(sum, t.shape[at]!), shape[at]!);
    return [{ dtype, shape: shape.map((d, i) => (i === at ? total : d)) }];
  },
  Expand: (inputs, { shape }) => {
    arity('Expand', inputs, 1);
    if (!isStatic(shape)) fail('Expand', 'the target shape must be static');
    if (!sameShape(broadcast('Expand', inputs[0]!.shape, shape), shape))
      fail('Expand', `${show(inputs[0]!)} does not expand to [${shape.join(', ')}]`);
    return [{ dtype: inputs[0]!.dtype, shape }];
  },
  ArgMax: (inputs, { axis, keepDims }) => [
    { dtype: 'int64', shape: reduce('ArgMax')(inputs, { axes: [axis], keepDims })[0]!.shape },
  ],
  Gather: (inputs, { axis }) => {
    arity('Gather', inputs, 2);
    const [data, indices] = inputs as [TensorType, TensorType];
    integers('Gather', indices);
    const at = axisOf('Gather', axis, data.shape.length);
    return [{ dtype: data.dtype, shape: [...data.shape.slice(0, at), ...indices.shape, ...data.shape.slice(at + 1)] }];
  },
  GatherElements: (inputs, { axis }) => {
    arity('GatherElements', inputs, 2);
    const [data, indices] = inputs as [TensorType, TensorType];
    integers('GatherElements', indices);
    const at = axisOf('GatherElements', axis, data.shape.length);
    if (indices.shape.length !== data.shape.length || !indices.shape.every((d, i) => i === at || d === data.shape[i])) {
      fail('GatherElements', `indices ${show(indices)} do not fit ${show(data)}`);
    }
    return [{ dtype: data.dtype, shape: indices.shape }];
  },
  GatherND: (inputs) => {
    arity('GatherND', inputs, 2);
    const [data, indices] = inputs as [TensorType, TensorType];
    return [{ dtype: data.dtype, shape: [indices.shape[0]!, ...data.shape.slice(depthOf('GatherND', data, indices))] }];
  },
  ScatterElements: (inputs, { axis }) => {
    arity('ScatterElements', inputs, 3);
    const [data, indices, updates] = inputs as [TensorType, TensorType, TensorType];
    floats('ScatterElements', [data, updates]);
    integers('ScatterElements', indices);
    const at = axisOf('ScatterElements', axis, data.shape.length);
    if (!sameShape(indices.shape, updates.shape) || !indices.shape.every((d, i) => i === at || d === data.shape[i])) {
      fail('ScatterElements', `updates ${show(updates)} do not fit ${show(data)}`);
    }
    return [{ dtype: 'float32', shape: data.shape }];
  },
  ScatterND: (inputs) => {
    arity('ScatterND', inputs, 3);
    const [data, indices, updates] = inputs as [TensorType, TensorType, TensorType];
    floats('ScatterND', [data, updates]);
    const rest = data.shape.slice(depthOf('ScatterND', data, indices));
    if (!sameShape(updates.shape, [indices.shape[0]!, ...rest]))
      fail('ScatterND', `updates ${show(updates)} do not fit`);
    return [{ dtype: 'float32', shape: data.shape }];
  },
};

/** Types of an operation's outputs. @throws TypeError naming the operation and the shapes that do not fit. */
export function inferTypes<K extends Op>(op: K, inputs: readonly TensorType[], attrs: OpAttributes[K]): TensorType[] {
  return (SHAPE_RULES[op] as ShapeRule<K>)(inputs, attrs);
}
