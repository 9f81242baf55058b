// Mixed precision (Micikevicius et al. 2018, https://arxiv.org/abs/1710.03740): the layers of a finished f32 graph compute in 16
// bits. What adds up many numbers stays in f32, and so do the output projection and the loss. The graph is differentiated
// already, so its gradient is converted by the same rules.
import type { Graph } from './graph.js';
import type { DType, Node, Op, Value } from './op.js';

export type Half = 'float16' | 'bfloat16';
/** The types by their names in configurations. */
export const HALF = { f32: undefined, f16: 'float16', bf16: 'bfloat16' } as const;

const PRODUCTS: ReadonlySet<Op> = new Set(['MatMul', 'FusedMatMul', 'Gemm']);
const LAYERS: ReadonlySet<Op> = new Set(['SimplifiedLayerNormalization', 'Softmax', 'DequantizeLinear']);
const SUMS: ReadonlySet<Op> = new Set([
  ...(['ReduceSum', 'ReduceMean', 'LogSoftmax', 'Exp', 'Clip', 'Min', 'LessOrEqual', 'Cast'] as const),
  ...(['ScatterElements', 'ScatterND', 'CumSum', 'ArgMax', 'TopK'] as const),
]);
const MOVES: ReadonlySet<Op> = new Set([
  ...(['Reshape', 'Transpose', 'Slice', 'Concat', 'Expand', 'Gather', 'GatherND', 'GatherElements'] as const),
]);
const SIXTEEN: ReadonlySet<DType> = new Set<DType>(['float16', 'bfloat16']);
const NARROW = 16; // columns: fewer are statistics, or gradients of few numbers

/**
 * Changes the graph in place. Its outputs stay in f32.
 * @param inputs names of f32 inputs that become inputs in 16 bits
 * @param vocab the size of the axis of logits
 */
export function toHalf(g: Graph, half: Half, inputs: ReadonlySet<string>, vocab: number): void {
  const converted = new Map<Value, Value>();
  const current = (value: Value): Value => converted.get(value) ?? value;
  const isHalf = (value: Value): boolean => SIXTEEN.has(current(value).dtype);
  const fills = new Set<Value>(); // one number everywhere, which any type can hold
  const casts = new Map<string, Value>();
  const as = (value: Value, dtype: DType): Value => {
    const from = current(value);
    if (from.dtype === dtype || (from.dtype !== 'float32' && !SIXTEEN.has(from.dtype))) return from;
    const key = `${from.name} ${dtype}`;
    const cast = casts.get(key) ?? g.cast(from, dtype);
    casts.set(key, cast);
    return cast;
  };
  g.inputs.forEach((input, i) => {
    if (!inputs.has(input.name)) return;
    g.inputs[i] = { ...input, dtype: half };
    converted.set(input, g.inputs[i]!);
  });

  const floatsOf = (values: readonly Value[]): Value[] =>
    values.filter((value) => !fills.has(value) && (value.dtype === 'float32' || isHalf(value)));
  const touchesLogits = (values: readonly Value[]): boolean => values.some(({ shape }) => shape.includes(vocab));
  const computesInHalf = ({ op, inputs, outputs }: Node): boolean => {
    if (LAYERS.has(op)) return true;
    if (SUMS.has(op)) return false;
    if (PRODUCTS.has(op)) return !touchesLogits([...inputs, ...outputs]) && !isVector(outputs[0]!);
    if (MOVES.has(op)) return floatsOf(inputs).every(isHalf);
    if (touchesLogits(outputs) || isNarrow(outputs[0]!)) return false;
    const wide = floatsOf(inputs).filter((input) => !isNarrow(input));
    return wide.length === 0 || wide.some(isHalf);
  };
  for (const node of g.nodes.splice(0)) {
    const [input, output] = [node.inputs[0]!, node.outputs[0]!];
    if (node.op === 'Cast' && output.dtype === 'float32' && isHalf(input)) {
      converted.set(output, current(input)); // converted again where the output is used, to the type that is needed there
      continue;
    }
    if (node.op === 'Expand' && isNarrow(input)) fills.add(output);
    const dtype = computesInHalf(node) ? half : 'float32';
    const outputs = g.apply(
      node.op,
      node.inputs.map((each) => as(each, dtype)),
      node.attrs,
    );
    node.outputs.forEach((each, i) => {
      converted.set(each, outputs[i]!);
    });
  }
  for (const output of g.outputs) output.value = as(output.value, 'float32');
  g.prune();
}

/** Whether a value is a scalar, a vector, or a matrix of few columns. */
const isNarrow = ({ shape }: Value): boolean => shape.length < 2 || Number(shape.at(-1)) <= NARROW;
/** Whether a value has one row or one column. A product with such a value stays in f32. */
const isVector = ({ shape }: Value): boolean => shape.slice(-2).includes(1);
