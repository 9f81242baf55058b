// Verifies the stored nodes of a graph: names are unique, values are defined before use, and recorded shapes equal the
// inferred ones.
import type { Graph } from './graph.js';
import type { Value } from './op.js';
import { sameShape } from './op.js';
import { inferTypes } from './shapes.js';

/** @throws TypeError naming the first invalid value or node */
export function verify(graph: Graph): void {
  const defined = new Set<Value>();
  const names = new Set<string>();
  const define = (value: Value): void => {
    if (names.has(value.name)) throw new TypeError(`${value.name} is defined twice`);
    names.add(value.name);
    defined.add(value);
  };
  graph.inputs.forEach(define);
  for (const value of graph.constants.keys()) define(value);
  graph.nodes.forEach((node, index) => {
    for (const input of node.inputs)
      if (!defined.has(input))
        throw new TypeError(`node ${index} (${node.op}) uses ${input.name} before it is defined`);
    const types = inferTypes(node.op, node.inputs, node.attrs);
    node.outputs.forEach((output, i) => {
      const type = types[i];
      if (type?.dtype !== output.dtype || !sameShape(type.shape, output.shape))
        throw new TypeError(`node ${index} (${node.op}): ${output.name} does not have the inferred type`);
      define(output);
    });
  });
  for (const { name, value } of graph.outputs)
    if (!defined.has(value)) throw new TypeError(`the output ${name} is not computed`);
}
