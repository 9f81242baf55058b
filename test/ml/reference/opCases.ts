// Calls of every operation, for tests that compare ONNX Runtime and the gradient rules with a reference interpreter. The table is complete: an operation without a case does not compile.
import { RandomStream } from '../../../core/base/random.js';
import { Graph } from '../../../ml/ir/graph.js';
import type { DType, Op, OpAttributes } from '../../../ml/ir/op.js';
import { sizeOf } from '../../../ml/ir/op.js';

export interface CaseInput {
  shape: number[];
  dtype?: DType; // for bool, the data are float32 numbers that a Cast converts
  data?: number[]; // absent: random numbers in ±1
  constant?: boolean; // the test does not differentiate by it
}
export interface OpCase<K extends Op> {
  inputs: CaseInput[];
  attrs: OpAttributes[K];
  outputs?: number; // how many outputs, from the first one, are defined everywhere; default: all
}

const f = (...shape: number[]): CaseInput => ({ shape });
const table = (...shape: number[]): CaseInput => ({ shape, constant: true });
const quantized = (dtype: 'uint4' | 'uint8', ...shape: number[]): CaseInput => {
  const random = new RandomStream('quantized', dtype, shape.join());
  const data = Array.from({ length: sizeOf(shape) }, () =>
    Math.floor(random.uniform() * (dtype === 'uint4' ? 16 : 256)),
  );
  return { shape, dtype, data };
};
const i = (shape: number[], data: number[]): CaseInput => ({ shape, dtype: 'int64', data });

const d = (...shape: number[]): CaseInput => ({ shape, dtype: 'float64' });
const condition = (shape: number[], data: number[]): CaseInput => ({ shape, dtype: 'bool', data });

/** int32 values near both limits, so that sums and products wrap. */
const wrapping: { inputs: CaseInput[]; attrs: Record<never, never> } = {
  inputs: [
    { shape: [2, 1], dtype: 'int32', data: [2147483647, -1640531527] },
    { shape: [3], dtype: 'int32', data: [2147483645, -2048144789, 2147483647] },
  ],
  attrs: {},
};

const int64s = { inputs: [i([2, 1], [2 ** 30, -3]), i([3], [5, -7, 2 ** 20])], attrs: {} };
const doubles = { inputs: [d(2, 3), d(2, 1)], attrs: {} };

const sides = [false, true].flatMap((transA) => [false, true].map((transB) => ({ transA, transB })));
const left = (transposed: boolean, ...lead: number[]): CaseInput => f(...lead, ...(transposed ? [4, 3] : [3, 4]));
const right = (transposed: boolean, ...lead: number[]): CaseInput => f(...lead, ...(transposed ? [5, 4] : [4, 5]));

const broadcasts = (
  b: (...shape: number[]) => CaseInput = f,
): { inputs: CaseInput[]; attrs: Record<never, never> }[] => [
  { inputs: [f(2, 3), b(2, 3)], attrs: {} },
  { inputs: [f(2, 3, 4), b(3, 1)], attrs: {} },
  { inputs: [f(1, 4), b(3, 1)], attrs: {} },
  { inputs: [f(2, 2), b()], attrs: {} },
];
const unary = (input: CaseInput = f(2, 3)): { inputs: CaseInput[]; attrs: Record<never, never> }[] => [
  { inputs: [input], attrs: {} },
];

const int32 = (shape: number[], data: number[]): CaseInput => ({ shape, dtype: 'int32', data });
/** Four query heads and two key heads of size 16. */
const attention = (rows: number, length: number, past: number, last: number[], places: number): CaseInput[] => [
  f(rows, length, 8 * 16),
  f(rows, 2, past, 16),
  f(rows, 2, past, 16),
  int32([rows], last),
  int32([], [places]),
];

const OP_CASES: { readonly [K in Op]: readonly OpCase<K>[] } = {
  Add: [...broadcasts(), wrapping, int64s, doubles],
  Sub: [...broadcasts(), doubles],
  Mul: [...broadcasts(), wrapping, int64s, doubles],
  Min: broadcasts(),
  LessOrEqual: [...broadcasts(), wrapping, int64s, doubles],
  Where: [
    { inputs: [condition([2, 3], [1, 0, 0, 0, 1, 1]), f(2, 3), f(3)], attrs: {} },
    { inputs: [condition([3, 1], [1, 0, 1]), f(), f(3, 2)], attrs: {} },
    { inputs: [condition([3], [0, 1, 0]), i([1], [-1]), i([3], [4, 5, 6])], attrs: {} },
  ],
  CumSum: [
    { inputs: [f(2, 5)], attrs: { axis: -1 } },
    { inputs: [d(3, 2, 2)], attrs: { axis: 1 } },
  ],
  TopK: [
    { inputs: [f(3, 7)], attrs: { k: 4, largest: true } },
    { inputs: [{ shape: [2, 5], data: [1, 3, 3, 0, 3, 2, 2, 2, 2, 2] }], attrs: { k: 2, largest: true } },
    { inputs: [i([2, 4], [9, 2, 7, 3, 5, 6, 0, 1])], attrs: { k: 4, largest: false } },
  ],
  Neg: unary(),
  Exp: unary(),
  Sigmoid: unary(),
  QuickGelu: [1, 1.702].map((alpha) => ({ inputs: [f(2, 3)], attrs: { alpha } })),
  Clip: [{ inputs: [f(3, 4)], attrs: { min: -0.3, max: 0.4 } }],
  Cast: [
    { inputs: [i([3], [1, 0, 4])], attrs: { to: 'float32' } },
    { inputs: [{ shape: [3], data: [1.7, -1.7, 0] }], attrs: { to: 'int64' } },
    { inputs: [{ shape: [3], data: [1.7, -1.7, 0] }], attrs: { to: 'int32' } },
    { inputs: [{ shape: [3], data: [1.7, -1.7, 0] }], attrs: { to: 'bool' } },
    { inputs: [f(3)], attrs: { to: 'float64' } },
    { inputs: [d(3)], attrs: { to: 'float32' } },
  ],
  MatMul: [
    { inputs: [f(3, 4), f(4, 5)], attrs: {} },
    { inputs: [f(2, 3, 4), f(4, 5)], attrs: {} },
    { inputs: [f(2, 3, 4), f(2, 4, 5)], attrs: {} },
    { inputs: [f(2, 3, 4, 5), f(2, 1, 5, 2)], attrs: {} },
  ],
  FusedMatMul: [
    ...sides.map((t) => ({ inputs: [left(t.transA, 2, 2), right(t.transB, 2, 2)], attrs: { ...t, alpha: 0.5 } })),
    { inputs: [left(false, 2, 3), right(true, 2, 1)], attrs: { transA: false, transB: true, alpha: 1 } },
  ],
  Gemm: [
    ...sides.map((t) => ({ inputs: [left(t.transA), right(t.transB)], attrs: { ...t, alpha: 1 } })),
    ...sides.map((t) => ({ inputs: [left(t.transA), right(t.transB), f(3, 5)], attrs: { ...t, alpha: 0.5 } })),
    { inputs: [f(3, 4), f(4, 5), f(5)], attrs: { transA: false, transB: false, alpha: 2 } },
  ],
  DequantizeLinear: [
    { inputs: [quantized('uint4', 3, 32), f(3, 2), quantized('uint4', 3, 2)], attrs: { blockSize: 16 } },
    { inputs: [quantized('uint8', 2, 32), f(2, 1), quantized('uint8', 2, 1)], attrs: { blockSize: 32 } },
  ],
  MatMulNBits: ([4, 8] as const).map((bits) => ({
    inputs: [f(2, 32), quantized('uint8', 3, 2, 2 * bits), f(3, 2)],
    attrs: { bits, blockSize: 16 },
  })),
  Softmax: unary(f(2, 3, 4)),
  LogSoftmax: unary(f(3, 4)),
  SimplifiedLayerNormalization: [{ inputs: [f(3, 6), f(6)], attrs: { epsilon: 1e-2 } }],
  RotaryEmbedding: [
    { inputs: [f(2, 3, 4, 6), i([1], [0]), table(9, 3), table(9, 3)], attrs: { heads: 3 } },
    { inputs: [f(2, 3, 2, 6), i([2, 2], [3, 4, 0, 8]), table(9, 3), table(9, 3)], attrs: { heads: 3 } },
  ],
  SkipSimplifiedLayerNormalization: [{ inputs: [f(3, 6), f(3, 6), f(6)], attrs: { epsilon: 1e-2 } }],
  GroupQueryAttention: [
    // one step of two rows whose pasts have 2 and 4 positions
    { inputs: attention(2, 1, 5, [2, 4], 5), attrs: { heads: 4, kvHeads: 2, scale: 0.25 }, outputs: 1 },
    {
      inputs: [...attention(2, 1, 5, [2, 4], 5), table(9, 8), table(9, 8)],
      attrs: { heads: 4, kvHeads: 2, scale: 0.25 },
      outputs: 1, // keys and values beyond the length of a row are undefined
    },
    // the first tokens, and three more tokens of one row
    {
      inputs: [f(2, 3, 8 * 16), int32([2], [2, 2]), int32([], [3]), table(9, 8), table(9, 8)],
      attrs: { heads: 4, kvHeads: 2, scale: 1, past: false },
    },
    { inputs: [...attention(2, 3, 0, [2, 2], 3), table(9, 8), table(9, 8)], attrs: { heads: 4, kvHeads: 2, scale: 1 } },
    { inputs: [...attention(1, 3, 4, [6], 7), table(9, 8), table(9, 8)], attrs: { heads: 4, kvHeads: 2, scale: 1 } },
  ],
  TensorScatter: [
    { inputs: [f(2, 2, 5, 3), f(2, 2, 1, 3), i([2], [4, 0])], attrs: {} },
    { inputs: [f(2, 1, 5, 2), f(2, 1, 3, 2), i([2], [0, 2])], attrs: {} },
  ],
  Attention: [
    // a step over caches, and the first tokens
    {
      inputs: [f(2, 4, 1, 16), f(2, 2, 6, 16), f(2, 2, 6, 16), i([2], [3, 6])],
      attrs: { scale: 0.25, causal: false },
    },
    { inputs: [f(2, 4, 5, 16), f(2, 2, 5, 16), f(2, 2, 5, 16)], attrs: { scale: 0.3, causal: true } },
  ],
  Reshape: [
    { inputs: [f(2, 6)], attrs: { shape: [3, 4] } },
    { inputs: [f(2, 6), i([2], [3, -1])], attrs: { shape: [3, 4] } },
  ],
  Transpose: [{ inputs: [f(2, 3, 4)], attrs: { perm: [2, 0, 1] } }],
  Slice: [
    { inputs: [f(2, 5)], attrs: { axis: 1, start: 1, end: 4 } },
    { inputs: [f(4, 2)], attrs: { axis: -2, start: 0, end: 3 } },
  ],
  Split: [
    { inputs: [f(2, 6)], attrs: { axis: 1, parts: 3 } },
    { inputs: [f(4, 2)], attrs: { axis: -2, parts: 2 } },
  ],
  Concat: [
    { inputs: [f(2, 3), f(2, 1), f(2, 2)], attrs: { axis: 1 } },
    { inputs: [f(1, 3), f(2, 3)], attrs: { axis: -2 } },
  ],
  Expand: [
    { inputs: [f(3, 1)], attrs: { shape: [2, 3, 4] } },
    { inputs: [f()], attrs: { shape: [2, 2] } },
  ],
  ReduceSum: [
    { inputs: [d(2, 3)], attrs: { axes: [-1], keepDims: true } },
    { inputs: [f(2, 3, 4)], attrs: { axes: [1], keepDims: false } },
    { inputs: [f(2, 3, 4)], attrs: { axes: [0, -1], keepDims: true } },
  ],
  ReduceMean: [
    { inputs: [f(2, 3, 4)], attrs: { axes: [-1], keepDims: false } },
    { inputs: [f(2, 3, 4)], attrs: { axes: [0, 1], keepDims: true } },
  ],
  ArgMax: [
    { inputs: [f(3, 5)], attrs: { axis: -1, keepDims: false } },
    { inputs: [f(3, 5)], attrs: { axis: 0, keepDims: true } },
  ],
  Gather: [
    { inputs: [f(4, 3), i([2, 2], [3, 0, 3, 1])], attrs: { axis: 0 } },
    { inputs: [f(4, 3), i([2], [2, 2])], attrs: { axis: 0 } },
  ],
  GatherElements: [
    { inputs: [f(3, 4), i([3, 1], [3, 0, 2])], attrs: { axis: 1 } },
    { inputs: [f(3, 4), i([2, 4], [2, 0, 0, 1, 2, 0, 1, 1])], attrs: { axis: 0 } },
  ],
  GatherND: [
    { inputs: [f(4, 3), i([5, 1], [3, 0, 3, 1, 3])], attrs: {} },
    { inputs: [f(4, 3, 2), i([3, 2], [3, 0, 0, 2, 3, 0])], attrs: {} },
  ],
  ScatterElements: [{ inputs: [f(3, 4), i([3, 2], [3, 3, 0, 1, 2, 2]), f(3, 2)], attrs: { axis: 1 } }],
  ScatterND: [
    { inputs: [f(4, 3), i([5, 1], [3, 0, 3, 1, 3]), f(5, 3)], attrs: { add: true } },
    { inputs: [f(4, 3, 2), i([3, 2], [3, 0, 0, 2, 3, 0]), f(3, 2)], attrs: { add: true } },
    { inputs: [f(4, 3), i([2, 1], [3, 1]), f(2, 3)], attrs: { add: false } },
  ],
};

export const OPS = Object.keys(OP_CASES) as Op[];

export interface BuiltCase {
  title: string;
  op: Op;
  graph: Graph; // the outputs y0, y1, … are those that are defined everywhere
  feeds: Record<string, { shape: readonly number[]; data: Float64Array }>;
  /** The inputs to differentiate by. */
  floats: string[];
}

const pack = (nibbles: readonly number[]): Uint8Array =>
  Uint8Array.from({ length: nibbles.length / 2 }, (_, k) => nibbles[2 * k]! + 16 * nibbles[2 * k + 1]!);

export function buildCases(op: Op): BuiltCase[] {
  const cases = OP_CASES[op] as readonly OpCase<Op>[];
  return cases.map(({ inputs, attrs, outputs: defined }, n) => {
    const graph = new Graph();
    const random = new RandomStream(op, n);
    const feeds: BuiltCase['feeds'] = {};
    const values = inputs.map(({ shape, dtype = 'float32', data }, k) => {
      if (dtype === 'uint4') return graph.constant(`x${k}`, shape, pack(data!), true); // sessions refuse such a feed
      const draw = (): number => Math.fround(2 * random.uniform() - 1);
      feeds[`x${k}`] = { shape, data: Float64Array.from(data ?? Array.from({ length: sizeOf(shape) }, draw)) };
      if (dtype === 'bool') return graph.cast(graph.input(`x${k}`, 'float32', shape), 'bool');
      return graph.input(`x${k}`, dtype, shape);
    });
    const outputs = graph.apply(op, values, attrs);
    outputs.slice(0, defined).forEach((value, k) => {
      graph.output(`y${k}`, value);
    });
    const floats = values.filter((v, k) => v.dtype === 'float32' && !inputs[k]!.constant).map((v) => v.name);
    const title = `${op}(${inputs.map((x) => `[${x.shape}]`).join(', ')}${Object.keys(attrs).length ? `, ${JSON.stringify(attrs)}` : ''})`;
    return { title, op, graph, feeds, floats };
  });
}
