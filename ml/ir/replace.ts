// Replaces operations of a finished graph with other operations that give the same results.
import type { Graph } from './graph.js';
import type { Node, NodeOf, Op, Value } from './op.js';
import { sameShape } from './op.js';

/** Appends nodes for a node. @returns values for its outputs */
type Replacement<K extends Op> = (g: Graph, node: NodeOf<K>) => readonly Value[];
export type Replacements = { readonly [K in Op]?: Replacement<K> };

/** Changes the graph in place. @throws TypeError if a replacement has another type than the output that it stands for */
export function replaceOperations(g: Graph, replacements: Replacements): void {
  const replaced = new Map<Value, Value>();
  const current = (value: Value): Value => replaced.get(value) ?? value;
  for (const original of g.nodes.splice(0)) {
    const node: Node = { ...original, inputs: original.inputs.map(current) };
    const replacement = replacements[node.op] as Replacement<Op> | undefined;
    if (!replacement) {
      g.nodes.push(node);
      continue;
    }
    const outputs = replacement(g, node);
    node.outputs.forEach((output, i) => {
      const value = outputs[i];
      if (value?.dtype !== output.dtype || !sameShape(value.shape, output.shape))
        throw new TypeError(`the replacement of ${node.op} has no output ${i} of the same type`);
      replaced.set(output, value);
    });
  }
  for (const output of g.outputs) output.value = current(output.value);
  g.prune();
}
