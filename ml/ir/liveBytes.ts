// Computes how much memory the tensors of a graph take, without running it. A tensor is alive from the node that makes it to the last
// node that reads it, in the order in which ONNX Runtime runs the nodes.
import type { Graph } from './graph.js';
import { bytesOf, type Node, type Op, sizeOf, type Value } from './op.js';

const GRAIN = 256; // bytes; the arena rounds sizes up to a multiple
/** These operations write over an input of the same size that nobody reads afterwards. */
const IN_PLACE: ReadonlySet<Op> = new Set(['Add', 'Sub', 'Mul', 'Min', 'Neg', 'Exp', 'Sigmoid', 'QuickGelu', 'Clip']);

/**
 * The largest number of bytes that are alive at once, constants in the graph included. All sizes must be numbers.
 * @param isHeld whether an input is in memory anyway, such as weights, so that it does not count
 */
export function peakBytes(graph: Graph, isHeld: (input: Value) => boolean): number {
  const order = executionOrder(graph);
  const owners = new Map<Value, Value>(); // view → the value whose memory it shows
  const ownerOf = (value: Value): Value => owners.get(value) ?? value;
  const reads = new Map<Value, number>(); // value → how often it is still read
  const count = (value: Value): void => {
    reads.set(ownerOf(value), (reads.get(ownerOf(value)) ?? 0) + 1);
  };
  for (const { op, inputs, outputs } of order) {
    if (op === 'Reshape') owners.set(outputs[0]!, ownerOf(inputs[0]!));
    for (const input of inputs) count(input);
  }
  for (const { value } of graph.outputs) count(value); // read at the end
  const bound = new Set(graph.outputs.flatMap(({ value, direct }) => (direct ? [value] : []))); // memory of the caller
  let live = 0;
  const lasting = new Set<Value>(graph.constants.keys());
  for (const [value, data] of graph.constants) if (data.kind === 'inline') live += sizeIn(value);
  for (const input of graph.inputs) {
    lasting.add(input);
    if (!isHeld(input)) live += sizeIn(input);
  }
  let peak = live;
  for (const { op, inputs, outputs } of order) {
    const ended: Value[] = [];
    for (const buffer of inputs.map(ownerOf)) {
      const left = reads.get(buffer)! - 1;
      reads.set(buffer, left);
      if (left === 0 && !lasting.has(buffer) && !bound.has(buffer)) ended.push(buffer);
    }
    const made = outputs.filter((value) => ownerOf(value) === value && !bound.has(value));
    const reused = IN_PLACE.has(op) ? ended.findIndex((buffer) => made[0] && sizeIn(buffer) === sizeIn(made[0])) : -1;
    if (reused >= 0) live -= sizeIn(ended.splice(reused, 1)[0]!);
    for (const value of made) live += sizeIn(value);
    peak = Math.max(peak, live);
    for (const buffer of ended) live -= sizeIn(buffer);
    for (const value of made) if (!reads.has(value)) live -= sizeIn(value); // no node reads the result
  }
  return peak;
}

const sizeIn = ({ dtype, shape }: Value): number => GRAIN * Math.ceil(bytesOf(dtype, sizeOf(shape)) / GRAIN);

/**
 * ONNX Runtime walks back from the outputs, the last one first, and from each node to the latest one that it needs. A node comes
 * after all that it needs.
 */
function executionOrder({ nodes, outputs }: Graph): Node[] {
  const makers = new Map<Value, number>();
  nodes.forEach((node, i) => {
    for (const value of node.outputs) makers.set(value, i);
  });
  const order: Node[] = [];
  const visited = new Set<number>();
  const stack = outputs.flatMap(({ value }) => makers.get(value) ?? []).map((index) => ({ index, leaves: false }));
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const node = nodes[entry.index]!;
    if (entry.leaves) order.push(node);
    if (entry.leaves || visited.has(entry.index)) continue;
    visited.add(entry.index);
    stack.push({ index: entry.index, leaves: true });
    const needed = new Set(node.inputs.flatMap((value) => makers.get(value) ?? []));
    for (const index of [...needed].sort((a, b) => a - b))
      if (!visited.has(index)) stack.push({ index, leaves: false });
  }
  return order;
}
