// Gradient checkpointing (Chen et al. 2016): some values of the forward pass are kept, and the backward pass recomputes the
// others by appending their nodes again. Values that depend on constants only (weights that are cast or unpacked) are
// never kept.
import type { Graph } from '../ir/graph.js';
import type { Node, Value } from '../ir/op.js';

export class Recomputation {
  private readonly producer = new Map<Value, Node>();
  private readonly fromConstants: ReadonlySet<Value>;
  private readonly recomputed = new Map<Value, Value>();

  /** @param keep the values to keep; default: all that depend on an input */
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

  /** The value that the backward pass reads: `original` if it is kept, else its recomputation, which is created once. */
  value(original: Value): Value {
    const node = this.producer.get(original);
    if (!node || this.isKept(original)) return original;
    if (!this.recomputed.has(original)) {
      const outputs = this.g.apply(
        node.op,
        node.inputs.map((v) => this.value(v)),
        node.attrs,
      );
      node.outputs.forEach((output, i) => {
        this.recomputed.set(output, outputs[i]!);
      });
    }
    return this.recomputed.get(original)!;
  }

  /** A copy of the node whose inputs and outputs are those that the backward pass reads. */
  node(original: Node): Node {
    const inputs = original.inputs.map((v) => this.value(v));
    const outputs = original.outputs.map((v) => this.value(v));
    return { ...original, inputs, outputs };
  }

  private isKept(value: Value): boolean {
    return !this.fromConstants.has(value) && (this.keep?.has(value) ?? true);
  }
}
