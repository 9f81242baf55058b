// All operations. Every table over them (shapes, gradients, encoding) is a total `Record<Op, …>`, so an operation without a rule does
// not compile. Names and meaning follow ONNX (opset 21, or 24 where stated) and the com.microsoft domain. What ONNX takes as a
// constant input (axes, target shapes, bounds) is an attribute here.

export type DType = 'float64' | 'float32' | 'bfloat16' | 'float16' | 'int64' | 'int32' | 'uint8' | 'uint4' | 'bool';
/** A number, or the name of a size that is only known at run time (decoding: batch, past length). `2·B·T` is a product. */
export type Dim = number | string;
export type Shape = readonly Dim[];

type None = Record<never, never>;

export interface OpAttributes {
  // Where a rule says "floats", all of them have one type, and so has the result.
  // elementwise; two inputs with NumPy broadcasting; Add, Mul and LessOrEqual also take integers, which wrap
  Add: None;
  Sub: None;
  Mul: None;
  Min: None;
  Neg: None;
  Exp: None;
  Sigmoid: None;
  QuickGelu: { alpha: number }; // x·sigmoid(αx); α = 1 is SiLU
  Clip: { min: number; max: number };
  LessOrEqual: None; // → bool
  Where: None; // (condition bool, a, b of one type): a where the condition holds, else b
  Cast: { to: DType };
  // matmuls
  MatMul: None; // [..., m, k]·[..., k, n], leading dims equal or 1 in b; all batches share a two-dimensional b
  FusedMatMul: { transA: boolean; transB: boolean; alpha: number }; // α·op(a)·op(b), leading dims equal or 1 in b
  Gemm: { transA: boolean; transB: boolean; alpha: number }; // α·op(a)·op(b) + c; c optional, broadcast to [m, n]
  // quantized weights: groups of `blockSize` along the last axis share a scale
  DequantizeLinear: { blockSize: number }; // (q uint4|uint8 [..., K], scale [..., K/g], zero like q) → scale·(q − zero)
  // x·Wᵀ on packed weights (x [..., K], q uint8 [N, K/g, g·bits/8], scale [N, K/g]); zero is 2^(bits−1)
  MatMulNBits: { bits: 4 | 8; blockSize: number };
  CumSum: { axis: number }; // running sums: element i is the sum of elements 0..i
  // over the last axis
  Softmax: None;
  LogSoftmax: None;
  TopK: { k: number; largest: boolean }; // (values, int64 positions), the best first; of equal ones, the lower position
  SimplifiedLayerNormalization: { epsilon: number }; // (x, scale) → (RMSNorm, 1/rms [..., 1])
  // (x, skip, scale) → (RMSNorm of x + skip, x + skip)
  SkipSimplifiedLayerNormalization: { epsilon: number };
  RotaryEmbedding: { heads: number }; // (x [B, H, T, hd], positions [1] or [B, T], cos, sin [max, hd/2]) → like x
  // Causal attention of T new positions after a past; query heads share the key heads in order (Ainslie et al. 2023).
  // (qkv [B, T, (H + 2·KV)·hd], past k and v [B, KV, S, hd] unless `past` is false, last position of each row int32 [B], length of the
  // longest row int32 [], cos and sin [max, hd/2] to rotate q and k; without them q and k are not rotated)
  // → (mixed [B, T, H·hd], k and v with the new positions, max(S, length) of them). Rows may differ in length only without
  // a past, padded on the right. T > 1 after a past needs B = 1. Scores are scale·(q·k).
  GroupQueryAttention: { heads: number; kvHeads: number; scale: number; past?: boolean };
  // Writes T new positions of each row into its cache (opset 24): (cache [B, KV, S, hd], new [B, KV, T, hd], first position
  // of each row int64 [B]) → like cache. The runtime writes in place if both are the same memory.
  TensorScatter: None;
  // softmax(scale·q·kᵀ)·v (opset 24); query heads share the key heads in order. (q [B, H, T, hd], k and v [B, KV, S, hd],
  // filled positions of each row int64 [B], optional: others are not seen) → like q. causal: query t sees keys 0..t.
  Attention: { scale: number; causal: boolean };
  // shape
  Reshape: { shape: Shape }; // a second input, int64, gives sizes that cannot be inferred
  Transpose: { perm: readonly number[] };
  /** On a symbolic size `name+n`: start 0 and end −n gives `name`; start −n and end END gives the last n. */
  Slice: { axis: number; start: number; end: number };
  Split: { axis: number; parts: number }; // equal parts
  Concat: { axis: number };
  Expand: { shape: Shape };
  // reductions
  ReduceSum: { axes: readonly number[]; keepDims: boolean };
  ReduceMean: { axes: readonly number[]; keepDims: boolean };
  ArgMax: { axis: number; keepDims: boolean };
  // indexing
  Gather: { axis: number }; // (data, indices): data.shape with axis replaced by indices.shape
  GatherElements: { axis: number };
  GatherND: None; // (data, indices [n, w]): positions along the first w axes → [n, ...]
  ScatterElements: { axis: number }; // (data, indices, updates): data with updates added
  /** (data, indices [n, w], updates [n, ...]): data with updates added, or in their place; then no index may repeat. */
  ScatterND: { add: boolean };
}

/** The end of a Slice that takes all remaining elements. */
export const END = 2 ** 31 - 1;

export type Op = keyof OpAttributes;

/** One tensor of a graph. Identity is the object itself; `name` is unique within its graph. */
export interface Value {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
}

export interface NodeOf<K extends Op> {
  readonly op: K;
  readonly attrs: OpAttributes[K];
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
}
export type Node = { [K in Op]: NodeOf<K> }[Op];

export type InlineData = Float64Array | Float32Array | BigInt64Array | Int32Array | Uint8Array;

/** The bytes of a constant: in memory, or a range of a file (little endian, row major). */
export type ConstantData =
  | { kind: 'inline'; data: InlineData }
  | { kind: 'external'; location: string; offset: number; length: number };

const BITS: Record<DType, number> = {
  float64: 64,
  float32: 32,
  bfloat16: 16,
  float16: 16,
  int64: 64,
  int32: 32,
  uint8: 8,
  uint4: 4, // two per byte, the first in the low half
  bool: 8,
};
export const bytesOf = (dtype: DType, count: number): number => Math.ceil((count * BITS[dtype]) / 8);

export const isStatic = (shape: Shape): shape is readonly number[] => shape.every((d) => typeof d === 'number');

/** The sizes of a shape. @throws RangeError if one is symbolic */
export function staticShape(shape: Shape): number[] {
  if (!isStatic(shape)) throw new RangeError(`[${shape.join(', ')}] has a symbolic size`);
  return [...shape];
}

export const sizeOf = (shape: Shape): number => staticShape(shape).reduce((a, b) => a * b, 1);
export const sameShape = (a: Shape, b: Shape): boolean => a.length === b.length && a.every((d, i) => d === b[i]);
