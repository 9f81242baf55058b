// Shape and type rules: what each operation accepts and what it returns. They are applied when a graph is built, and again
// by the verifier to the stored nodes.
import type { Dim, DType, Op, OpAttributes, Shape } from './op.js';
import { END, isStatic, sameShape } from './op.js';

interface TensorType {
  readonly dtype: DType;
  readonly shape: Shape;
}
type ShapeRule<K extends Op> = (inputs: readonly TensorType[], attrs: OpAttributes[K]) => TensorType[];

/** `inferTypes` puts the name of the operation in front of the message. */
function fail(why: string): never {
  throw new TypeError(why);
}
const show = (t: TensorType): string => `${t.dtype}[${t.shape.join(', ')}]`;

const FLOATS: readonly DType[] = ['float64', 'float32', 'float16', 'bfloat16'];

/** The type of all inputs, which must be floats of one type. */
function floats(...inputs: readonly TensorType[]): DType {
  const { dtype } = inputs[0]!;
  for (const t of inputs)
    if (t.dtype !== dtype || !FLOATS.includes(dtype))
      fail(`takes floats of one type, got ${inputs.map(show).join(', ')}`);
  return dtype;
}
function integers(t: TensorType): void {
  if (t.dtype !== 'int64' && t.dtype !== 'int32') fail(`takes integer indices, got ${show(t)}`);
}

function axisOf(axis: number, rank: number): number {
  const positive = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(axis) || positive < 0 || positive >= rank) fail(`axis ${axis} is outside a rank of ${rank}`);
  return positive;
}

/** Whether two shapes are equal, except perhaps at one axis. */
const sameExcept = (axis: number, a: Shape, b: Shape): boolean =>
  a.length === b.length && a.every((d, i) => i === axis || d === b[i]);

/** NumPy broadcasting; a symbolic size matches itself and 1. */
function broadcast(a: Shape, b: Shape): Dim[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = a[a.length - rank + i] ?? 1;
    const y = b[b.length - rank + i] ?? 1;
    if (x === y || y === 1) return x;
    if (x === 1) return y;
    return fail(`cannot broadcast [${a.join(', ')}] with [${b.join(', ')}]`);
  });
}

const unary = ([x]: readonly TensorType[]): TensorType[] => [{ dtype: floats(x!), shape: x!.shape }];
const binary = ([a, b]: readonly TensorType[]): TensorType[] => [
  { dtype: floats(a!, b!), shape: broadcast(a!.shape, b!.shape) },
];

/** Like `binary`, but also takes two int32 or two int64. */
const arithmetic =
  (dtype?: DType) =>
  ([a, b]: readonly TensorType[]): TensorType[] => {
    if (a!.dtype !== b!.dtype || (a!.dtype !== 'int32' && a!.dtype !== 'int64')) floats(a!, b!);
    return [{ dtype: dtype ?? a!.dtype, shape: broadcast(a!.shape, b!.shape) }];
  };

function matrixSides(shape: Shape, transpose: boolean): [Dim, Dim] {
  if (shape.length < 2) fail(`takes matrices, got [${shape.join(', ')}]`);
  const [rows, columns] = shape.slice(-2) as [Dim, Dim];
  return transpose ? [columns, rows] : [rows, columns];
}
/** Leading sizes are equal, or 1 in b. */
function checkBatches(a: Shape, b: Shape): void {
  if (a.length !== b.length || !b.slice(0, -2).every((d, i) => d === 1 || d === a[i])) fail('leading sizes differ');
}
function product(a: Shape, b: Shape, transA: boolean, transB: boolean): [Dim, Dim] {
  const [m, k] = matrixSides(a, transA);
  const [k2, n] = matrixSides(b, transB);
  if (k !== k2) fail(`inner sizes ${k} and ${k2} differ for [${a.join(', ')}] and [${b.join(', ')}]`);
  return [m, n];
}

function headSize(width: Dim, heads: number): number {
  if (typeof width !== 'number' || width % heads !== 0) fail(`${heads} heads do not divide ${width}`);
  return (width as number) / heads;
}

function groupsOf(size: Dim, blockSize: number): number {
  if (typeof size !== 'number' || size % blockSize !== 0) fail(`groups of ${blockSize} do not divide ${size}`);
  return (size as number) / blockSize;
}

function reduce(
  [x]: readonly TensorType[],
  { axes: list, keepDims }: { axes: readonly number[]; keepDims: boolean },
): TensorType[] {
  const dtype = floats(x!);
  const { shape } = x!;
  const axes = list.map((a) => axisOf(a, shape.length));
  const out = keepDims ? shape.map((d, i) => (axes.includes(i) ? 1 : d)) : shape.filter((_, i) => !axes.includes(i));
  return [{ dtype, shape: out }];
}

/** Adding to a symbolic size gives a symbolic size of the form `name+3`. */
function addDims(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  return `${a}+${b}`;
}

/** The number of elements as text: a number, times sizes that are only known at run time. */
function countOf(shape: Shape): string {
  const factors = shape.flatMap((d) => String(d).split('·'));
  const isNumber = (factor: string): boolean => /^\d+$/.test(factor);
  const known = factors.filter(isNumber).reduce((n, factor) => n * Number(factor), 1);
  return [known, ...factors.filter((factor) => !isNumber(factor)).sort()].join('·');
}

/** The number of axes that a row of `indices` addresses. */
function depthOf(data: TensorType, indices: TensorType): number {
  integers(indices);
  const [, depth] = indices.shape;
  if (indices.shape.length !== 2 || typeof depth !== 'number' || depth > data.shape.length)
    fail(`indices must be [n, w] for w axes of ${show(data)}, got ${show(indices)}`);
  return depth as number;
}

const SHAPE_RULES: { readonly [K in Op]: ShapeRule<K> } = {
  Add: arithmetic(),
  Sub: binary,
  Mul: arithmetic(),
  Min: binary,
  LessOrEqual: arithmetic('bool'),
  Where: ([condition, a, b]) => {
    if (condition!.dtype !== 'bool') fail(`takes a bool as condition, got ${show(condition!)}`);
    if (a!.dtype !== b!.dtype) fail(`takes two of one type, got ${show(a!)} and ${show(b!)}`);
    return [{ dtype: a!.dtype, shape: broadcast(condition!.shape, broadcast(a!.shape, b!.shape)) }];
  },
  CumSum: ([x], { axis }) => {
    axisOf(axis, x!.shape.length);
    return [{ dtype: floats(x!), shape: x!.shape }];
  },
  TopK: ([x], { k }) => {
    if (x!.dtype !== 'int64') floats(x!);
    const size = x!.shape.at(-1);
    if (typeof size !== 'number' || k < 1 || k > size) fail(`cannot take ${k} of ${show(x!)}`);
    const shape = [...x!.shape.slice(0, -1), k];
    return [
      { dtype: x!.dtype, shape },
      { dtype: 'int64', shape },
    ];
  },
  Neg: unary,
  Exp: unary,
  Sigmoid: unary,
  QuickGelu: unary,
  Clip: unary,
  DequantizeLinear: (inputs, { blockSize }) => {
    const [q, scale, zero] = inputs as [TensorType, TensorType, TensorType];
    const dtype = floats(scale);
    if (q.dtype !== 'uint4' && q.dtype !== 'uint8') fail(`takes uint4 or uint8, got ${show(q)}`);
    const groups = [...q.shape.slice(0, -1), groupsOf(q.shape.at(-1)!, blockSize)];
    if (!sameShape(scale.shape, groups) || !sameShape(zero.shape, groups) || zero.dtype !== q.dtype)
      fail(`scale ${show(scale)} and zero ${show(zero)} do not fit ${show(q)}`);
    return [{ dtype, shape: q.shape }];
  },
  MatMulNBits: (inputs, { bits, blockSize }) => {
    const [x, q, scale] = inputs as [TensorType, TensorType, TensorType];
    floats(x, scale);
    const groups = groupsOf(x.shape.at(-1)!, blockSize);
    const out = scale.shape[0]!;
    if (q.dtype !== 'uint8' || !sameShape(q.shape, [out, groups, (blockSize * bits) / 8]))
      fail(`packed weights ${show(q)} do not fit ${show(x)}`);
    if (!sameShape(scale.shape, [out, groups])) fail(`scale ${show(scale)} does not fit ${show(x)}`);
    return [{ dtype: 'float32', shape: [...x.shape.slice(0, -1), out] }];
  },
  Softmax: unary,
  LogSoftmax: unary,
  ReduceSum: reduce,
  ReduceMean: reduce,
  Cast: (inputs, { to }) => [{ dtype: to, shape: inputs[0]!.shape }],
  MatMul: (inputs) => {
    const dtype = floats(...inputs);
    const [a, b] = [inputs[0]!.shape, inputs[1]!.shape];
    const sides = product(a, b, false, false);
    if (b.length > 2) checkBatches(a, b);
    return [{ dtype, shape: [...a.slice(0, -2), ...sides] }];
  },
  FusedMatMul: (inputs, { transA, transB }) => {
    const dtype = floats(...inputs);
    const [a, b] = [inputs[0]!.shape, inputs[1]!.shape];
    const sides = product(a, b, transA, transB);
    checkBatches(a, b);
    return [{ dtype, shape: [...a.slice(0, -2), ...sides] }];
  },
  Gemm: (inputs, { transA, transB }) => {
    const dtype = floats(...inputs);
    const [a, b, c] = inputs;
    if (a!.shape.length !== 2 || b!.shape.length !== 2) fail('takes two-dimensional matrices');
    const shape = product(a!.shape, b!.shape, transA, transB);
    if (c && !sameShape(broadcast(c.shape, shape), shape)) fail(`c ${show(c)} does not fit [${shape.join(', ')}]`);
    return [{ dtype, shape }];
  },
  SimplifiedLayerNormalization: (inputs) => {
    const dtype = floats(...inputs);
    const [x, scale] = [inputs[0]!.shape, inputs[1]!.shape];
    if (scale.length !== 1 || scale[0] !== x.at(-1)) fail(`scale [${scale.join(', ')}] does not fit [${x.join(', ')}]`);
    return [
      { dtype, shape: x },
      { dtype: 'float32', shape: [...x.slice(0, -1), 1] },
    ];
  },
  SkipSimplifiedLayerNormalization: (inputs) => {
    floats(...inputs);
    const [x, skip, scale] = inputs as [TensorType, TensorType, TensorType];
    if (!sameShape(x.shape, skip.shape)) fail(`${show(skip)} is not like ${show(x)}`);
    if (!sameShape(scale.shape, x.shape.slice(-1))) fail(`scale ${show(scale)} does not fit ${show(x)}`);
    return [x, x];
  },
  GroupQueryAttention: (inputs, { heads, kvHeads, past = true }) => {
    const [qkv, ...others] = inputs as [TensorType, TensorType, TensorType];
    const none: TensorType = {
      ...qkv,
      shape: [qkv.shape[0]!, kvHeads, 0, headSize(qkv.shape[2]!, heads + 2 * kvHeads)],
    };
    const [k, v, last, places, ...tables] = (past ? others : [none, none, ...others]) as [
      TensorType,
      TensorType,
      TensorType,
      TensorType,
    ];
    const dtype = floats(qkv, k, v, ...tables);
    const [rows, , width] = qkv.shape;
    const size = k.shape[3];
    if (typeof size !== 'number' || qkv.shape.length !== 3 || width !== (heads + 2 * kvHeads) * size)
      fail(`${show(qkv)} does not hold ${heads} + 2·${kvHeads} heads of ${size}`);
    if (!sameShape(k.shape, [rows!, kvHeads, k.shape[2]!, size as number]) || !sameShape(k.shape, v.shape))
      fail(`a past of ${show(k)} and ${show(v)} does not fit ${show(qkv)}`);
    if (
      last.dtype !== 'int32' ||
      !sameShape(last.shape, [rows!]) ||
      places.dtype !== 'int32' ||
      places.shape.length > 0
    )
      fail(`takes int32 lengths [${rows}] and [], got ${show(last)} and ${show(places)}`);
    for (const table of tables as TensorType[])
      if (table.shape[1] !== (size as number) / 2) fail(`tables must be [max, ${size}/2], got ${show(table)}`);
    const present: TensorType = { dtype, shape: [rows!, kvHeads, past ? 'present' : qkv.shape[1]!, size as number] };
    return [{ dtype, shape: [rows!, qkv.shape[1]!, heads * (size as number)] }, present, present];
  },
  TensorScatter: (inputs) => {
    const [cache, fresh, start] = inputs as [TensorType, TensorType, TensorType];
    const like = cache.shape.map((d, i) => (i === cache.shape.length - 2 ? fresh.shape[i]! : d));
    if (cache.dtype !== fresh.dtype || cache.shape.length !== 4 || !sameShape(fresh.shape, like))
      fail(`${show(fresh)} does not fit into ${show(cache)}`);
    if (start.dtype !== 'int64' || !sameShape(start.shape, [cache.shape[0]!]))
      fail(`takes one start a row, got ${show(start)}`);
    return [cache];
  },
  Attention: (inputs) => {
    const [q, k, v, filled] = inputs as [TensorType, TensorType, TensorType, TensorType?];
    const dtype = floats(q, k, v);
    const [rows, heads, , size] = q.shape;
    const kvHeads = k.shape[1];
    if (
      q.shape.length !== 4 ||
      !sameShape(k.shape, [rows!, kvHeads!, k.shape[2]!, size!]) ||
      !sameShape(k.shape, v.shape)
    )
      fail(`${show(k)} and ${show(v)} do not fit ${show(q)}`);
    if (typeof heads !== 'number' || typeof kvHeads !== 'number' || heads % kvHeads !== 0)
      fail(`${kvHeads} key heads do not divide ${heads} heads`);
    if (filled && (filled.dtype !== 'int64' || !sameShape(filled.shape, [rows!])))
      fail(`takes one length a row, got ${show(filled)}`);
    return [{ dtype, shape: q.shape }];
  },
  RotaryEmbedding: (inputs, { heads }) => {
    const [x, positions, cos, sin] = inputs as [TensorType, TensorType, TensorType, TensorType];
    const dtype = floats(x, cos, sin);
    integers(positions);
    if (x.shape.length !== 4 || x.shape[1] !== heads) fail(`takes [B, ${heads}, T, hd], got ${show(x)}`);
    const half = x.shape[3];
    if (typeof half !== 'number' || half % 2 !== 0) fail(`needs an even head size, got ${half}`);
    if (!sameShape(cos.shape, sin.shape) || cos.shape.length !== 2 || cos.shape[1] !== half / 2)
      fail('cos and sin must be [max, hd/2]');
    const one = positions.shape.length === 1 && positions.shape[0] === 1;
    if (!one && !sameShape(positions.shape, [x.shape[0]!, x.shape[2]!]))
      fail(`positions ${show(positions)} are neither [1] nor [B, T]`);
    return [{ dtype, shape: x.shape }];
  },
  Reshape: (inputs, { shape }) => {
    const [from, sizes] = inputs as [TensorType, TensorType?];
    if (sizes && (sizes.dtype !== 'int64' || !sameShape(sizes.shape, [shape.length])))
      fail(`takes int64[${shape.length}] as sizes, got ${show(sizes)}`);
    if (countOf(from.shape) !== countOf(shape)) fail(`${show(from)} does not fill [${shape.join(', ')}]`);
    return [{ dtype: from.dtype, shape }];
  },
  Transpose: (inputs, { perm }) => {
    const { dtype, shape } = inputs[0]!;
    if (perm.length !== shape.length || ![...perm].sort((a, b) => a - b).every((p, i) => p === i))
      fail(`[${perm.join(', ')}] does not permute ${show(inputs[0]!)}`);
    return [{ dtype, shape: perm.map((p) => shape[p]!) }];
  },
  Slice: (inputs, { axis, start, end }) => {
    const { dtype, shape } = inputs[0]!;
    const at = axisOf(axis, shape.length);
    const size = shape[at]!;
    const sliced = (d: Dim): TensorType[] => [{ dtype, shape: shape.map((old, i) => (i === at ? d : old)) }];
    if (typeof size === 'string') {
      const [name, count] = [size.slice(0, size.lastIndexOf('+')), Number(size.slice(size.lastIndexOf('+') + 1))];
      if (start === 0 && end === -count) return sliced(name);
      if (start === -count && end === END) return sliced(count);
    }
    if (typeof size !== 'number' || start < 0 || end > size || start >= end)
      fail(`${start}..${end} is not inside ${size}`);
    return sliced(end - start);
  },
  Split: ([x], { axis, parts }) => {
    const at = axisOf(axis, x!.shape.length);
    const size = x!.shape[at]!;
    if (typeof size !== 'number' || size % parts !== 0) fail(`${parts} parts do not divide ${size}`);
    const part = { dtype: x!.dtype, shape: x!.shape.map((d, i) => (i === at ? (size as number) / parts : d)) };
    return Array.from({ length: parts }, () => part);
  },
  Concat: (inputs, { axis }) => {
    if (inputs.length === 0) fail('takes at least one input');
    const { dtype, shape } = inputs[0]!;
    const at = axisOf(axis, shape.length);
    for (const t of inputs)
      if (t.dtype !== dtype || !sameExcept(at, t.shape, shape))
        fail(`${show(t)} does not join ${show(inputs[0]!)} on axis ${at}`);
    const total = inputs.slice(1).reduce<Dim>((sum, t) => addDims(sum, t.shape[at]!), shape[at]!);
    return [{ dtype, shape: shape.map((d, i) => (i === at ? total : d)) }];
  },
  Expand: (inputs, { shape }) => {
    if (!isStatic(shape)) fail('the target shape must be static');
    if (!sameShape(broadcast(inputs[0]!.shape, shape), shape))
      fail(`${show(inputs[0]!)} does not expand to [${shape.join(', ')}]`);
    return [{ dtype: inputs[0]!.dtype, shape }];
  },
  ArgMax: (inputs, { axis, keepDims }) => [
    { dtype: 'int64', shape: reduce(inputs, { axes: [axis], keepDims })[0]!.shape },
  ],
  Gather: (inputs, { axis }) => {
    const [data, indices] = inputs as [TensorType, TensorType];
    integers(indices);
    const at = axisOf(axis, data.shape.length);
    return [{ dtype: data.dtype, shape: [...data.shape.slice(0, at), ...indices.shape, ...data.shape.slice(at + 1)] }];
  },
  GatherElements: (inputs, { axis }) => {
    const [data, indices] = inputs as [TensorType, TensorType];
    integers(indices);
    const at = axisOf(axis, data.shape.length);
    if (!sameExcept(at, indices.shape, data.shape)) fail(`indices ${show(indices)} do not fit ${show(data)}`);
    return [{ dtype: data.dtype, shape: indices.shape }];
  },
  GatherND: (inputs) => {
    const [data, indices] = inputs as [TensorType, TensorType];
    return [{ dtype: data.dtype, shape: [indices.shape[0]!, ...data.shape.slice(depthOf(data, indices))] }];
  },
  ScatterElements: (inputs, { axis }) => {
    const [data, indices, updates] = inputs as [TensorType, TensorType, TensorType];
    const dtype = floats(data, updates);
    integers(indices);
    const at = axisOf(axis, data.shape.length);
    if (!sameShape(indices.shape, updates.shape) || !sameExcept(at, indices.shape, data.shape))
      fail(`updates ${show(updates)} do not fit ${show(data)}`);
    return [{ dtype, shape: data.shape }];
  },
  ScatterND: (inputs, { add }) => {
    const [data, indices, updates] = inputs as [TensorType, TensorType, TensorType];
    if (add || data.dtype !== updates.dtype) floats(data, updates);
    const rest = data.shape.slice(depthOf(data, indices));
    if (!sameShape(updates.shape, [indices.shape[0]!, ...rest])) fail(`updates ${show(updates)} do not fit`);
    return [{ dtype: data.dtype, shape: data.shape }];
  },
};

export const OPERATIONS = Object.keys(SHAPE_RULES) as Op[];

/** The numbers of inputs that operations may have. Operations that are not listed have one. */
const INPUTS: { readonly [K in Op]?: readonly number[] } = {
  Add: [2],
  Sub: [2],
  Mul: [2],
  Min: [2],
  LessOrEqual: [2],
  Where: [3],
  DequantizeLinear: [3],
  MatMulNBits: [3],
  MatMul: [2],
  FusedMatMul: [2],
  Gemm: [2, 3],
  SimplifiedLayerNormalization: [2],
  SkipSimplifiedLayerNormalization: [3],
  GroupQueryAttention: [3, 5, 7],
  TensorScatter: [3],
  Attention: [3, 4],
  RotaryEmbedding: [4],
  Reshape: [1, 2],
  Gather: [2],
  GatherElements: [2],
  GatherND: [2],
  ScatterElements: [3],
  ScatterND: [3],
};

/** The types of an operation's outputs. @throws TypeError naming the operation and the shapes that do not fit */
export function inferTypes<K extends Op>(op: K, inputs: readonly TensorType[], attrs: OpAttributes[K]): TensorType[] {
  try {
    const counts = INPUTS[op] ?? [1];
    if (op !== 'Concat' && !counts.includes(inputs.length))
      fail(`takes ${counts.join(' or ')} inputs, got ${inputs.length}`);
    return (SHAPE_RULES[op] as ShapeRule<K>)(inputs, attrs);
  } catch (error) {
    throw new TypeError(`${op}: ${(error as Error).message}`, { cause: error });
  }
}
