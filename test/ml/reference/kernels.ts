// One f64 kernel per operation, written as the operation is defined. interpret.ts runs them.
import type { DType, Op, OpAttributes } from '../../../ml/ir/op.js';
import type { NdArray } from './ndarray.js';

/** @param dtype the type of the first output */
type Kernel<K extends Op> = (inputs: readonly NdArray[], attrs: OpAttributes[K], dtype: DType) => NdArray[];

const product = (list: readonly number[]): number => list.reduce((a, b) => a * b, 1);
const wrap = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);

/** The multi-index of a flat position. */
function unravel(flat: number, shape: readonly number[]): number[] {
  const index = new Array<number>(shape.length);
  for (let i = shape.length - 1; i >= 0; i--) {
    index[i] = flat % shape[i]!;
    flat = Math.floor(flat / shape[i]!);
  }
  return index;
}
const ravel = (index: readonly number[], shape: readonly number[]): number =>
  index.reduce((flat, i, axis) => flat * shape[axis]! + i, 0);

/** The element of `x` that broadcasting puts at `index` of a larger shape. */
function broadcastAt(x: NdArray, index: readonly number[]): number {
  const skip = index.length - x.shape.length;
  return x.data[
    ravel(
      x.shape.map((d, i) => (d === 1 ? 0 : index[i + skip]!)),
      x.shape,
    )
  ]!;
}
/** Builds an array from a function of the multi-index. */
function build(shape: readonly number[], at: (index: number[]) => number): NdArray {
  const data = new Float64Array(product(shape));
  for (let i = 0; i < data.length; i++) data[i] = at(unravel(i, shape));
  return { shape, data };
}
function broadcastShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => Math.max(a[a.length - rank + i] ?? 1, b[b.length - rank + i] ?? 1));
}
const unary =
  (f: (x: number) => number): (([x]: readonly NdArray[]) => NdArray[]) =>
  ([x]) => [{ shape: x!.shape, data: x!.data.map(f) }];
const binary =
  (f: (a: number, b: number) => number): (([a, b]: readonly NdArray[]) => NdArray[]) =>
  ([a, b]) => [build(broadcastShape(a!.shape, b!.shape), (index) => f(broadcastAt(a!, index), broadcastAt(b!, index)))];

const transposed = (index: number[], transpose: boolean): number[] =>
  transpose ? [...index.slice(0, -2), index.at(-1)!, index.at(-2)!] : index;
function multiply(a: NdArray, b: NdArray, transA: boolean, transB: boolean, alpha: number): NdArray {
  const m = transA ? a.shape.at(-1)! : a.shape.at(-2)!;
  const k = transA ? a.shape.at(-2)! : a.shape.at(-1)!;
  const n = transB ? b.shape.at(-2)! : b.shape.at(-1)!;
  return build([...a.shape.slice(0, -2), m, n], (index) => {
    const [lead, i, j] = [index.slice(0, -2), index.at(-2)!, index.at(-1)!];
    const leadB = b.shape.length === 2 ? [] : lead.map((at, axis) => (b.shape[axis] === 1 ? 0 : at));
    let sum = 0;
    for (let x = 0; x < k; x++) {
      const left = a.data[ravel(transposed([...lead, i, x], transA), a.shape)]!;
      sum += left * b.data[ravel(transposed([...leadB, x, j], transB), b.shape)]!;
    }
    return alpha * sum;
  });
}
/** Applies f to every row of the last axis. */
function rows(x: NdArray, f: (row: Float64Array) => Float64Array | number[]): NdArray {
  const width = x.shape.at(-1)!;
  const data = new Float64Array(x.data.length);
  for (let at = 0; at < data.length; at += width) data.set(f(x.data.subarray(at, at + width)), at);
  return { shape: x.shape, data };
}
function logSumExp(row: Float64Array): number {
  const top = row.reduce((a, b) => Math.max(a, b));
  return top + Math.log(row.reduce((sum, v) => sum + Math.exp(v - top), 0));
}
function sumOver(x: NdArray, axes: readonly number[], keepDims: boolean): NdArray {
  const reduced = axes.map((a) => wrap(a, x.shape.length));
  const kept = x.shape.map((d, i) => (reduced.includes(i) ? 1 : d));
  const data = new Float64Array(product(kept));
  x.data.forEach((v, flat) => {
    const at = ravel(
      unravel(flat, x.shape).map((i, axis) => (reduced.includes(axis) ? 0 : i)),
      kept,
    );
    data[at]! += v;
  });
  const shape = keepDims ? kept : x.shape.filter((_, i) => !reduced.includes(i));
  return { shape, data };
}
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** Resolves the symbolic size of a Reshape target; there may be one. */
function resolve(from: readonly number[], shape: OpAttributes['Reshape']['shape']): number[] {
  const known = product(shape.filter((d) => typeof d === 'number'));
  const symbols = shape.filter((d) => typeof d === 'string');
  if (symbols.length > 1) throw new RangeError('the interpreter resolves one symbolic size per Reshape');
  return shape.map((d) => (typeof d === 'number' ? d : product(from) / known));
}

export const KERNELS: { readonly [K in Op]: Kernel<K> } = {
  Add: (inputs, _, dtype) => binary(dtype === 'int32' ? (a, b) => (a + b) | 0 : (a, b) => a + b)(inputs),
  Sub: binary((a, b) => a - b),
  Mul: (inputs, _, dtype) => binary(dtype === 'int32' ? Math.imul : (a, b) => a * b)(inputs),
  Min: binary(Math.min),
  LessOrEqual: binary((a, b) => (a <= b ? 1 : 0)),
  Where: ([condition, a, b]) => {
    const shape = broadcastShape(condition!.shape, broadcastShape(a!.shape, b!.shape));
    return [build(shape, (index) => broadcastAt(broadcastAt(condition!, index) ? a! : b!, index))];
  },
  CumSum: ([x], { axis }) => {
    const at = wrap(axis, x!.shape.length);
    const sumTo = (index: readonly number[]): number => {
      let sum = 0;
      for (let i = 0; i <= index[at]!; i++) sum += x!.data[ravel(index.with(at, i), x!.shape)]!;
      return sum;
    };
    return [build(x!.shape, sumTo)];
  },
  TopK: ([x], { k, largest }) => {
    const width = x!.shape.at(-1)!;
    const shape = [...x!.shape.slice(0, -1), k];
    const positions = new Float64Array(product(shape));
    for (let row = 0; row * k < positions.length; row++) {
      const values = Array.from(x!.data.subarray(row * width, (row + 1) * width));
      const order = [...values.keys()].sort(
        (i, j) => (largest ? values[j]! - values[i]! : values[i]! - values[j]!) || i - j,
      );
      positions.set(order.slice(0, k), row * k);
    }
    const values = positions.map((position, i) => x!.data[Math.floor(i / k) * width + position]!);
    return [
      { shape, data: values },
      { shape, data: positions },
    ];
  },
  Neg: unary((x) => -x),
  Exp: unary(Math.exp),
  Sigmoid: unary(sigmoid),
  QuickGelu: (inputs, { alpha }) => unary((x) => x * sigmoid(alpha * x))(inputs),
  Clip: (inputs, { min, max }) => unary((x) => Math.min(Math.max(x, min), max))(inputs),
  Cast: ([x], { to }) => {
    if (to === 'bool') return unary((v) => (v === 0 ? 0 : 1))([x!]);
    return to === 'int32' || to === 'int64' ? unary(Math.trunc)([x!]) : [x!];
  },
  MatMul: ([a, b]) => [multiply(a!, b!, false, false, 1)],
  FusedMatMul: ([a, b], { transA, transB, alpha }) => [multiply(a!, b!, transA, transB, alpha)],
  Gemm: ([a, b, c], { transA, transB, alpha }) => {
    const out = multiply(a!, b!, transA, transB, alpha);
    return [c ? build(out.shape, (index) => broadcastAt(out, index) + broadcastAt(c, index)) : out];
  },
  DequantizeLinear: ([q, scale, zero], { blockSize }) => {
    const data = q!.data.map((v, i) => {
      const group = Math.floor(i / blockSize);
      return scale!.data[group]! * (v - zero!.data[group]!);
    });
    return [{ shape: q!.shape, data }];
  },
  MatMulNBits: ([x, q, scale], { bits, blockSize }) => {
    const perByte = 8 / bits; // the low bits hold the first weight
    const weight = build([q!.shape[0]!, x!.shape.at(-1)!], ([n, k]) => {
      const i = n! * x!.shape.at(-1)! + k!;
      const packed = q!.data[Math.floor(i / perByte)]! >> (bits * (i % perByte));
      return scale!.data[Math.floor(i / blockSize)]! * ((packed & (2 ** bits - 1)) - 2 ** (bits - 1));
    });
    return [multiply(x!, weight, false, true, 1)];
  },
  Softmax: ([x]) => [rows(x!, (row) => row.map((v) => Math.exp(v - logSumExp(row))))],
  LogSoftmax: ([x]) => [rows(x!, (row) => row.map((v) => v - logSumExp(row)))],
  SimplifiedLayerNormalization: ([x, scale], { epsilon }) => {
    const width = x!.shape.at(-1)!;
    const inverse = (row: Float64Array): number => 1 / Math.sqrt(row.reduce((s, v) => s + v * v, 0) / width + epsilon);
    const inv = new Float64Array(x!.data.length / width);
    for (let i = 0; i < inv.length; i++) inv[i] = inverse(x!.data.subarray(i * width, (i + 1) * width));
    return [
      rows(x!, (row) => row.map((v, i) => v * inverse(row) * scale!.data[i]!)),
      { shape: [...x!.shape.slice(0, -1), 1], data: inv },
    ];
  },
  SkipSimplifiedLayerNormalization: ([x, skip, scale], { epsilon }) => {
    const sum = { shape: x!.shape, data: x!.data.map((v, i) => v + skip!.data[i]!) };
    return [KERNELS.SimplifiedLayerNormalization([sum, scale!], { epsilon }, 'float32')[0]!, sum];
  },
  GroupQueryAttention: ([qkv, ...others], { heads, kvHeads, scale, past: hasPast = true }) => {
    const [rows, length, width] = qkv!.shape as [number, number, number];
    const none: NdArray = { shape: [rows, kvHeads, 0, width / (heads + 2 * kvHeads)], data: new Float64Array(0) };
    const [pastK, pastV, last, places, cos, sin] = hasPast ? others : [none, none, ...others];
    const [, , S, size] = pastK!.shape as [number, number, number, number];
    const total = places!.data[0]!;
    const first = (b: number): number => (length === total ? 0 : last!.data[b]! + 1 - length); // where the first token of the row is
    const part = (from: number, n: number): NdArray =>
      build(
        [rows, n, length, size],
        ([b, h, t, i]) => qkv!.data[ravel([b!, t!, (from + h!) * size + i!], qkv!.shape)]!,
      );
    const positions = build([rows, length], (index) => first(index[0]!) + index[1]!);
    const turned = (x: NdArray): NdArray =>
      cos ? KERNELS.RotaryEmbedding([x, positions, cos, sin!], { heads: x.shape[1]! }, 'float32')[0]! : x;
    const q = turned(part(0, heads));
    const joined = (past: NdArray, fresh: NdArray): NdArray =>
      build([rows, kvHeads, Math.max(S, total), size], ([b, h, p, i]) => {
        const t = p! - first(b!);
        if (t < 0) return past.data[ravel([b!, h!, p!, i!], past.shape)]!;
        return p! <= last!.data[b!]! ? fresh.data[ravel([b!, h!, t, i!], fresh.shape)]! : 0;
      });
    const k = joined(pastK!, turned(part(heads, kvHeads)));
    const v = joined(pastV!, part(heads + kvHeads, kvHeads));
    const mixed = build([rows, length, heads * size], ([b, t, column]) => {
      const [h, i] = [Math.floor(column! / size), column! % size];
      const shared = Math.floor(h / (heads / kvHeads));
      const seen = first(b!) + t! + 1;
      const scores = Float64Array.from({ length: seen }, (_, p) => {
        let dot = 0;
        for (let x = 0; x < size; x++)
          dot += q.data[ravel([b!, h, t!, x], q.shape)]! * k.data[ravel([b!, shared, p, x], k.shape)]!;
        return dot * scale;
      });
      const z = logSumExp(scores);
      return scores.reduce((sum, s, p) => sum + Math.exp(s - z) * v.data[ravel([b!, shared, p, i], v.shape)]!, 0);
    });
    return [mixed, k, v];
  },
  TensorScatter: ([cache, fresh, start]) => [
    build(cache!.shape, ([b, h, p, i]) => {
      const t = p! - start!.data[b!]!;
      const isNew = t >= 0 && t < fresh!.shape[2]!;
      return isNew
        ? fresh!.data[ravel([b!, h!, t, i!], fresh!.shape)]!
        : cache!.data[ravel([b!, h!, p!, i!], cache!.shape)]!;
    }),
  ],
  Attention: ([q, k, v, filled], { scale, causal }) => {
    const [, heads, , size] = q!.shape as [number, number, number, number];
    const group = heads / k!.shape[1]!;
    return [
      build(q!.shape, ([b, h, t, i]) => {
        const shared = Math.floor(h! / group);
        const seen = Math.min(filled ? filled.data[b!]! : k!.shape[2]!, causal ? t! + 1 : Number.POSITIVE_INFINITY);
        const scores = Float64Array.from({ length: seen }, (_, p) => {
          let dot = 0;
          for (let x = 0; x < size; x++)
            dot += q!.data[ravel([b!, h!, t!, x], q!.shape)]! * k!.data[ravel([b!, shared, p, x], k!.shape)]!;
          return dot * scale;
        });
        const z = logSumExp(scores);
        return scores.reduce((sum, s, p) => sum + Math.exp(s - z) * v!.data[ravel([b!, shared, p, i!], v!.shape)]!, 0);
      }),
    ];
  },
  RotaryEmbedding: ([x, positions, cos, sin]) => {
    const half = x!.shape[3]! / 2;
    const table = (t: NdArray, b: number, position: number, i: number): number => {
      const one = positions!.shape.length === 1;
      const row = one ? positions!.data[0]! + position : positions!.data[b * x!.shape[2]! + position]!;
      return t.data[row * half + i]!;
    };
    return [
      build(x!.shape, ([b, h, t, i]) => {
        const low = i! % half;
        const a = x!.data[ravel([b!, h!, t!, low], x!.shape)]!;
        const c = x!.data[ravel([b!, h!, t!, low + half], x!.shape)]!;
        const [cosine, sine] = [table(cos!, b!, t!, low), table(sin!, b!, t!, low)];
        return i! < half ? a * cosine - c * sine : c * cosine + a * sine;
      }),
    ];
  },
  Reshape: ([x, sizes], { shape }) => {
    if (!sizes) return [{ shape: resolve(x!.shape, shape), data: x!.data }];
    const known = product(Array.from(sizes.data).filter((d) => d >= 0));
    return [{ shape: Array.from(sizes.data, (d) => (d < 0 ? x!.data.length / known : d)), data: x!.data }];
  },
  Transpose: ([x], { perm }) => [
    build(
      perm.map((p) => x!.shape[p]!),
      (index) => {
        const from = new Array<number>(perm.length);
        perm.forEach((p, i) => {
          from[p] = index[i]!;
        });
        return x!.data[ravel(from, x!.shape)]!;
      },
    ),
  ],
  Slice: ([x], { axis, start, end }) => {
    const at = wrap(axis, x!.shape.length);
    const [from, to] = x!.shape
      .slice(at, at + 1)
      .flatMap((d) => [start < 0 ? d + start : start, end < 0 ? d + end : end]);
    const shape = x!.shape.map((d, i) => (i === at ? Math.min(d, to!) - from! : d));
    return [
      build(
        shape,
        (index) =>
          x!.data[
            ravel(
              index.map((v, i) => (i === at ? v + from! : v)),
              x!.shape,
            )
          ]!,
      ),
    ];
  },
  Split: ([x], { axis, parts }) => {
    const size = x!.shape.at(axis)! / parts;
    return Array.from(
      { length: parts },
      (_, part) => KERNELS.Slice([x!], { axis, start: part * size, end: (part + 1) * size }, 'float32')[0]!,
    );
  },
  Concat: (inputs, { axis }) => {
    const at = wrap(axis, inputs[0]!.shape.length);
    const total = inputs.reduce((sum, x) => sum + x.shape[at]!, 0);
    const shape = inputs[0]!.shape.map((d, i) => (i === at ? total : d));
    return [
      build(shape, (index) => {
        let offset = index[at]!;
        let part = 0;
        while (offset >= inputs[part]!.shape[at]!) offset -= inputs[part++]!.shape[at]!;
        const x = inputs[part]!;
        return x.data[
          ravel(
            index.map((v, i) => (i === at ? offset : v)),
            x.shape,
          )
        ]!;
      }),
    ];
  },
  Expand: ([x], { shape }) => [build(shape as number[], (index) => broadcastAt(x!, index))],
  ReduceSum: ([x], { axes, keepDims }) => [sumOver(x!, axes, keepDims)],
  ReduceMean: ([x], { axes, keepDims }) => {
    const { shape, data } = sumOver(x!, axes, keepDims);
    return [{ shape, data: data.map((sum) => (sum * data.length) / x!.data.length) }];
  },
  ArgMax: ([x], { axis, keepDims }) => {
    const at = wrap(axis, x!.shape.length);
    const kept = x!.shape.map((d, i) => (i === at ? 1 : d));
    const out = build(kept, (index) => {
      let best = 0;
      const value = (k: number): number =>
        x!.data[
          ravel(
            index.map((v, i) => (i === at ? k : v)),
            x!.shape,
          )
        ]!;
      for (let k = 1; k < x!.shape[at]!; k++) if (value(k) > value(best)) best = k;
      return best;
    });
    return [keepDims ? out : { shape: kept.filter((_, i) => i !== at), data: out.data }];
  },
  Gather: ([data, indices], { axis }) => {
    const at = wrap(axis, data!.shape.length);
    const rank = indices!.shape.length;
    const shape = [...data!.shape.slice(0, at), ...indices!.shape, ...data!.shape.slice(at + 1)];
    return [
      build(shape, (index) => {
        const row = indices!.data[ravel(index.slice(at, at + rank), indices!.shape)]!;
        return data!.data[ravel([...index.slice(0, at), row, ...index.slice(at + rank)], data!.shape)]!;
      }),
    ];
  },
  GatherElements: ([data, indices], { axis }) => {
    const at = wrap(axis, data!.shape.length);
    return [
      build(indices!.shape, (index) => {
        const row = indices!.data[ravel(index, indices!.shape)]!;
        return data!.data[
          ravel(
            index.map((v, i) => (i === at ? row : v)),
            data!.shape,
          )
        ]!;
      }),
    ];
  },
  GatherND: ([data, indices]) => {
    const [n, depth] = indices!.shape as [number, number];
    return [
      build([n, ...data!.shape.slice(depth)], ([row, ...rest]) => {
        const place = Array.from(indices!.data.subarray(row! * depth, (row! + 1) * depth));
        return data!.data[ravel([...place, ...rest], data!.shape)]!;
      }),
    ];
  },
  ScatterElements: ([data, indices, updates], { axis }) => {
    const at = wrap(axis, data!.shape.length);
    const out = data!.data.slice();
    updates!.data.forEach((v, flat) => {
      const index = unravel(flat, updates!.shape).map((i, a) => (a === at ? indices!.data[flat]! : i));
      out[ravel(index, data!.shape)]! += v;
    });
    return [{ shape: data!.shape, data: out }];
  },
  ScatterND: ([data, indices, updates], { add }) => {
    const out = data!.data.slice();
    const depth = indices!.shape[1]!;
    updates!.data.forEach((v, flat) => {
      const [row, ...rest] = unravel(flat, updates!.shape);
      const place = Array.from(indices!.data.subarray(row! * depth, (row! + 1) * depth));
      const at = ravel([...place, ...rest], data!.shape);
      out[at] = add ? out[at]! + v : v;
    });
    return [{ shape: data!.shape, data: out }];
  },
};
