// The reference interpreter: every operation as it is defined, in f64, without optimization. Tests compare ONNX Runtime's
// kernels and the gradient rules with it.
import type { Graph } from '../../../ml/ir/graph.js';
import type { DType, Op, OpAttributes, Shape, Value } from '../../../ml/ir/op.js';
import { KERNELS } from './kernels.js';
import type { NdArray } from './ndarray.js';
import { ndarray } from './ndarray.js';

export { type NdArray, ndarray } from './ndarray.js';

function fits(declared: Shape, actual: readonly number[]): boolean {
  return declared.length === actual.length && declared.every((d, i) => typeof d === 'string' || d === actual[i]);
}

/** Runs a graph. Feeds and results have the names of inputs and outputs. Constants must be inline. */
export function interpret(graph: Graph, feeds: Readonly<Record<string, NdArray>>): Record<string, NdArray> {
  const computed = interpretAll(graph, feeds);
  return Object.fromEntries(graph.outputs.map(({ name, value }) => [name, computed.get(value)!]));
}

/** Like `interpret`, but returns every value of the graph. */
export function interpretAll(graph: Graph, feeds: Readonly<Record<string, NdArray>>): Map<Value, NdArray> {
  const values = new Map<Value, NdArray>();
  for (const input of graph.inputs) {
    const feed = feeds[input.name];
    if (!feed) throw new RangeError(`no feed for the input ${input.name}`);
    if (!fits(input.shape, feed.shape))
      throw new RangeError(`${input.name} is [${feed.shape.join(', ')}], not [${input.shape.join(', ')}]`);
    values.set(input, feed);
  }
  for (const [value, constant] of graph.constants) {
    if (constant.kind !== 'inline') continue;
    const stored = Array.from(constant.data as ArrayLike<number | bigint>, Number);
    const numbers = value.dtype === 'uint4' ? stored.flatMap((byte) => [byte & 15, byte >> 4]) : stored;
    values.set(value, ndarray(value.shape as number[], numbers));
  }
  for (const node of graph.nodes) {
    const inputs = node.inputs.map((input) => {
      const array = values.get(input);
      if (!array) throw new RangeError(`${input.name} has no value here`);
      return array;
    });
    const outputs = runKernel(node.op, inputs, node.attrs, node.outputs[0]!.dtype);
    node.outputs.forEach((output, i) => {
      values.set(output, outputs[i]!);
    });
  }
  return values;
}

function runKernel<K extends Op>(op: K, inputs: readonly NdArray[], attrs: OpAttributes[K], dtype: DType): NdArray[] {
  type AnyKernel = (inputs: readonly NdArray[], attrs: OpAttributes[K], dtype: DType) => NdArray[];
  return (KERNELS[op] as AnyKernel)(inputs, attrs, dtype);
}
