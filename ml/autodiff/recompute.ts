// Which values of the forward pass outlive it, and how the backward pass gets the others: their nodes are appended once
// more, from what was kept. Gradient checkpointing (Chen et al. 2016) is the choice of what to keep; what follows from
// constants alone (weights that are cast or unpacked) is never kept.
import type { Graph } from '../ir/graph.js';
import type { Node, Value } from '../ir/op.js';

export class Recomputation {
  private readonly producer = new Map<Value, Node>();
  private readonly fromConstants: ReadonlySet<Value>;
  private readonly again = new Map<Value, Value>();

  /** @param keep values that stay; absent: all that depend on an input */
  constructor(
    private readonly g: Graph,
    private readonly keep?: ReadonlySet<Value>,
  ) {
    const constant = new Set<Value>(g.constants.keys());
    for (const node of g.nodes) {
      const fixed = node.inputs.every((v) => constant.has(v));
      for (const output of node.outputs) {
        this.producer.set(output, node);
        if (fixed) constant.add(output);
      }
    }
    this.fromConstants = constant;
  }

  /** The same number for the backward pass: the value itself where it is kept, else its one recomputation. */
  value(original: Value): Value {
    const node = this.producer.get(original);
    if (!node || this.stays(original)) return original;
    if (!this.again.has(original)) {
      const outputs = this.g.apply(
        node.op,
        node.inputs.map((v) => this.value(v)),
        node.attrs,
      );
      node.outputs.forEach((output, i) => {
        this.again.set(output, outputs[i]!);
      });
    }
    return this.again.get(original)!;
  }

  /** The node on such values. */
  node(original: Node): Node {
    const inputs = original.inputs.map((v) => this.value(v));
    const outputs = original.outputs.map((v) => this.value(v));
    return { ...original, inputs, outputs };
  }

  private stays(value: Value): boolean {
    return !this.fromConstants.has(value) && (this.keep?.has(value) ?? true);
  }
}
