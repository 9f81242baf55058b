// Gradient rules: the vector-Jacobian product of each operation, built from operations of the same IR. A backward pass is
// therefore more graph. Operations without a gradient are listed as such.
import type { Graph } from '../ir/graph.js';
import type { NodeOf, Op, Shape, Value } from '../ir/op.js';
import { sameShape, staticShape } from '../ir/op.js';

export interface VjpContext<K extends Op> {
  readonly g: Graph;
  readonly node: NodeOf<K>;
  /** Gradient of the first output. */
  readonly dy: Value;
  /** Whether the gradient of input i is needed. Gradients that are not needed may be undefined. */
  readonly needs: (i: number) => boolean;
}
/** Gradients aligned with the node's inputs. */
export type VjpRule<K extends Op> = (context: VjpContext<K>) => (Value | undefined)[];

/** Sums a gradient over the axes that broadcasting added or stretched. */
function unbroadcast(g: Graph, dy: Value, shape: Shape): Value {
  if (sameShape(dy.shape, shape)) return dy;
  const skip = dy.shape.length - shape.length;
  const axes = dy.shape.flatMap((d, i) => (i < skip || (shape[i - skip] === 1 && d !== 1) ? [i] : []));
  return g.reshape(g.reduceSum(dy, axes, true), shape);
}

/** Restores the axes that a reduction dropped, then stretches to the shape before the reduction. */
function spread(g: Graph, dy: Value, shape: Shape, axes: readonly number[]): Value {
  const reduced = axes.map((a) => (a < 0 ? a + shape.length : a));
  const restored = shape.map((d, i) => (reduced.includes(i) ? 1 : d));
  return g.expand(sameShape(dy.shape, restored) ? dy : g.reshape(dy, restored), shape);
}

function lazily<const T extends readonly ((() => Value) | undefined)[]>(
  needs: (i: number) => boolean,
  makers: T,
): (Value | undefined)[] {
  return makers.map((make, i) => (make && needs(i) ? make() : undefined));
}

/** dA and dB for C = α·op(A)·op(B), depending on which sides are transposed. */
function matmulRule(
  multiply: (a: Value, b: Value, transA: boolean, transB: boolean) => Value,
  [a, b]: readonly Value[],
  dy: Value,
  transA: boolean,
  transB: boolean,
): [() => Value, () => Value] {
  return [
    () => (transA ? multiply(b!, dy, transB, true) : multiply(dy, b!, false, !transB)),
    () => (transB ? multiply(dy, a!, true, transA) : multiply(a!, dy, !transA, false)),
  ];
}

const float = (g: Graph, condition: Value): Value => g.cast(condition, 'float32');

export const VJP_RULES: { readonly [K in Op]: VjpRule<K> | 'nondifferentiable' } = {
  Add: ({ g, node: { inputs }, dy, needs }) =>
    lazily(needs, [() => unbroadcast(g, dy, inputs[0]!.shape), () => unbroadcast(g, dy, inputs[1]!.shape)]),
  Sub: ({ g, node: { inputs }, dy, needs }) =>
    lazily(needs, [() => unbroadcast(g, dy, inputs[0]!.shape), () => unbroadcast(g, g.neg(dy), inputs[1]!.shape)]),
  Mul: ({ g, node: { inputs }, dy, needs }) => {
    const [a, b] = inputs as [Value, Value];
    return lazily(needs, [() => unbroadcast(g, g.mul(dy, b), a.shape), () => unbroadcast(g, g.mul(dy, a), b.shape)]);
  },
  // if both inputs are equal, the gradient goes to the first input
  Min: ({ g, node: { inputs }, dy, needs }) => {
    const [a, b] = inputs as [Value, Value];
    const first = float(g, g.lessOrEqual(a, b));
    return lazily(needs, [
      () => unbroadcast(g, g.mul(dy, first), a.shape),
      () => unbroadcast(g, g.mul(dy, g.sub(g.scalar(1), first)), b.shape),
    ]);
  },
  Neg: ({ g, dy }) => [g.neg(dy)],
  Exp: ({ g, node, dy }) => [g.mul(dy, node.outputs[0]!)],
  Sigmoid: ({ g, node, dy }) => {
    const y = node.outputs[0]!;
    return [g.mul(dy, g.mul(y, g.sub(g.scalar(1), y)))];
  },
  // y = x·s with s = sigmoid(αx): dy·(s + α·y·(1 − s))
  QuickGelu: ({ g, node, dy }) => {
    const y = node.outputs[0]!;
    const s = g.sigmoid(g.scale(node.inputs[0]!, node.attrs.alpha));
    return [g.mul(dy, g.add(s, g.mul(g.scale(y, node.attrs.alpha), g.sub(g.scalar(1), s))))];
  },
  // the factor is 1 inside the bounds and on them, else 0
  Clip: ({ g, node, dy }) => {
    const x = node.inputs[0]!;
    const inside = g.mul(
      float(g, g.lessOrEqual(g.scalar(node.attrs.min), x)),
      float(g, g.lessOrEqual(x, g.scalar(node.attrs.max))),
    );
    return [g.mul(dy, inside)];
  },
  LessOrEqual: 'nondifferentiable',
  // Where, CumSum and TopK serve sampling only
  Where: 'nondifferentiable',
  CumSum: 'nondifferentiable',
  TopK: 'nondifferentiable',
  Cast: 'nondifferentiable',
  MatMul: ({ g, node, dy, needs }) => {
    const [a, b] = node.inputs as [Value, Value];
    if (a.shape.length === 2) {
      const gemm = (x: Value, y: Value, transA: boolean, transB: boolean): Value => g.gemm(x, y, { transA, transB });
      return lazily(needs, matmulRule(gemm, node.inputs, dy, false, false));
    }
    const fused = (x: Value, y: Value, transA: boolean, transB: boolean): Value =>
      g.fusedMatMul(x, y, { transA, transB });
    if (b.shape.length > 2) {
      const [left, right] = matmulRule(fused, node.inputs, dy, false, false);
      return lazily(needs, [left, () => unbroadcast(g, right(), b.shape)]);
    }
    // a shared right side: the batch becomes rows
    const [k, n] = staticShape(b.shape) as [number, number];
    const rows = staticShape(a.shape.slice(0, -1)).reduce((x, y) => x * y, 1);
    const flatDy = g.reshape(dy, [rows, n]);
    return lazily(needs, [
      () => g.reshape(g.gemm(flatDy, b, { transB: true }), a.shape),
      () => g.gemm(g.reshape(a, [rows, k]), flatDy, { transA: true }),
    ]);
  },
  FusedMatMul: ({ g, node, dy, needs }) => {
    const { transA, transB, alpha } = node.attrs;
    const fused = (x: Value, y: Value, tA: boolean, tB: boolean): Value =>
      g.fusedMatMul(x, y, { transA: tA, transB: tB, alpha });
    const [left, right] = matmulRule(fused, node.inputs, dy, transA, transB);
    return lazily(needs, [left, () => unbroadcast(g, right(), node.inputs[1]!.shape)]);
  },
  Gemm: ({ g, node, dy, needs }) => {
    const { transA, transB, alpha } = node.attrs;
    const c = node.inputs[2];
    const gemm = (x: Value, y: Value, tA: boolean, tB: boolean): Value =>
      // without transposes and scale, MatMul reads the weight in place
      !tA && !tB && alpha === 1 ? g.matMul(x, y) : g.gemm(x, y, { transA: tA, transB: tB, alpha });
    const sides = matmulRule(gemm, node.inputs, dy, transA, transB);
    return lazily(needs, c ? [...sides, () => unbroadcast(g, dy, c.shape)] : sides);
  },
  // linear in the scale; integers have no gradient
  DequantizeLinear: ({ g, node, dy, needs }) => {
    const [q, scale, zero] = node.inputs as [Value, Value, Value];
    const { blockSize } = node.attrs;
    if (!needs(1)) return [];
    const offsets = g.dequantize(q, g.expand(g.scalar(1), staticShape(scale.shape)), zero, blockSize);
    return [undefined, g.reduceSum(g.reshape(g.mul(dy, offsets), [...scale.shape, blockSize]), [-1], false)];
  },
  MatMulNBits: 'nondifferentiable', // decoding uses it, training uses DequantizeLinear
  // y·(dy − Σ dy·y)
  Softmax: ({ g, node, dy }) => {
    const y = node.outputs[0]!;
    return [g.mul(y, g.sub(dy, g.reduceSum(g.mul(dy, y), [-1], true)))];
  },
  LogSoftmax: ({ g, node, dy }) => [g.sub(dy, g.mul(g.exp(node.outputs[0]!), g.reduceSum(dy, [-1], true)))],
  // r = 1/rms: dx = r·(s·dy − x·r²·mean(s·dy·x)), ds = Σ dy·x·r. Only this rule uses the second output.
  SimplifiedLayerNormalization: ({ g, node, dy, needs }) => {
    const [x, scale] = node.inputs as [Value, Value];
    const r = node.outputs[1]!;
    return lazily(needs, [
      () => {
        const scaled = g.mul(dy, scale);
        const mean = g.reduceMean(g.mul(scaled, x), [-1], true);
        return g.mul(g.sub(scaled, g.mul(x, g.mul(mean, g.mul(r, r)))), r);
      },
      () => unbroadcast(g, g.mul(dy, g.mul(x, r)), scale.shape),
    ]);
  },
  SkipSimplifiedLayerNormalization: 'nondifferentiable', // only decoding uses it
  // GroupQueryAttention, TensorScatter and Attention serve decoding only
  GroupQueryAttention: 'nondifferentiable',
  TensorScatter: 'nondifferentiable',
  Attention: 'nondifferentiable',
  // the transpose of a rotation rotates the other way
  RotaryEmbedding: ({ g, node, dy, needs }) => {
    if (needs(2) || needs(3)) throw new TypeError('RotaryEmbedding has no gradient for its tables');
    const [, positions, cos, sin] = node.inputs as [Value, Value, Value, Value];
    return [g.rotary(dy, positions, cos, g.neg(sin))];
  },
  Reshape: ({ g, node, dy }) => [g.reshape(dy, node.inputs[0]!.shape)],
  Transpose: ({ g, node, dy }) => [
    g.transpose(
      dy,
      node.attrs.perm.map((_, i) => node.attrs.perm.indexOf(i)),
    ),
  ],
  Slice: ({ g, node, dy }) => {
    const shape = staticShape(node.inputs[0]!.shape);
    const { start, end } = node.attrs;
    const axis = node.attrs.axis < 0 ? node.attrs.axis + shape.length : node.attrs.axis;
    const padding = (size: number): Value[] =>
      size === 0 ? [] : [g.zeros(shape.map((d, i) => (i === axis ? size : d)))];
    return [g.concat([...padding(start), dy, ...padding(shape[axis]! - end)], axis)];
  },
  Split: 'nondifferentiable', // only decoding uses it
  Concat: ({ g, node, dy, needs }) => {
    const axis = node.attrs.axis < 0 ? node.attrs.axis + dy.shape.length : node.attrs.axis;
    let at = 0;
    return node.inputs.map((input, i) => {
      const start = at;
      at += staticShape([input.shape[axis]!])[0]!;
      return needs(i) ? g.slice(dy, axis, start, at) : undefined;
    });
  },
  Expand: ({ g, node, dy }) => [unbroadcast(g, dy, node.inputs[0]!.shape)],
  ReduceSum: ({ g, node, dy }) => [spread(g, dy, node.inputs[0]!.shape, node.attrs.axes)],
  ReduceMean: ({ g, node, dy }) => {
    const { shape } = node.inputs[0]!;
    const count = node.attrs.axes.reduce((n, a) => n * (shape.at(a) as number), 1);
    return [spread(g, g.scale(dy, 1 / count), shape, node.attrs.axes)];
  },
  ArgMax: 'nondifferentiable',
  Gather: ({ g, node, dy }) => {
    const [data, indices] = node.inputs as [Value, Value];
    if (node.attrs.axis !== 0) throw new TypeError('the gradient of Gather is defined for axis 0');
    const count = staticShape(indices.shape).reduce((a, b) => a * b, 1);
    const updates = g.reshape(dy, [count, ...data.shape.slice(1)]);
    return [g.scatterND(g.zeros(staticShape(data.shape)), g.reshape(indices, [count, 1]), updates)];
  },
  GatherElements: ({ g, node, dy }) => {
    const [data, indices] = node.inputs as [Value, Value];
    return [g.scatterElements(g.zeros(staticShape(data.shape)), indices, dy, node.attrs.axis)];
  },
  GatherND: ({ g, node, dy }) => {
    const [data, indices] = node.inputs as [Value, Value];
    return [g.scatterND(g.zeros(staticShape(data.shape)), indices, dy)];
  },
  ScatterElements: ({ g, node, dy, needs }) =>
    lazily(needs, [() => dy, undefined, () => g.gatherElements(dy, node.inputs[1]!, node.attrs.axis)]),
  ScatterND: ({ g, node, dy, needs }) => {
    const [, indices, updates] = node.inputs as [Value, Value, Value];
    const rest = (): Value => (node.attrs.add ? dy : g.replaceND(dy, indices, g.zeros(staticShape(updates.shape))));
    return lazily(needs, [rest, undefined, () => g.gatherND(dy, indices)]);
  },
};
