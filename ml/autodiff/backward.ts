// Reverse-mode differentiation ahead of time: walks a graph backward and appends the nodes of the backward pass.
import type { Graph } from '../ir/graph.js';
import type { Node, Op, Value } from '../ir/op.js';
import { sameShape } from '../ir/op.js';
import { Recomputation } from './recompute.js';
import type { VjpContext, VjpRule } from './rules.js';
import { VJP_RULES } from './rules.js';

/**
 * Gradients of Σ seed·output with respect to `wrt`, as new values of the same graph; the sum is over all seeds. A value
 * that the outputs do not depend on has a gradient of zeros.
 * @param keep the only values of the forward pass that the backward pass reads. It recomputes the others, with the same
 *   bits (see recompute.ts); `Graph.prune` removes unused recomputations.
 * @throws TypeError if a path to `wrt` contains an operation without a gradient
 */
export function backward(
  g: Graph,
  seeds: readonly { output: Value; seed: Value }[],
  wrt: readonly Value[],
  keep?: ReadonlySet<Value>,
): Map<Value, Value> {
  const nodes = [...g.nodes]; // the forward pass; the rules append nodes
  const recomputation = new Recomputation(g, keep);
  const active = new Set<Value>(wrt);
  const path = nodes.filter((node) => {
    const leads = node.inputs.some((v) => active.has(v));
    if (leads) for (const out of node.outputs) active.add(out);
    return leads;
  });

  const pending = new Map<Value, Value>();
  const accumulate = (value: Value, gradient: Value): void => {
    if (!sameShape(value.shape, gradient.shape)) {
      throw new TypeError(
        `the gradient of ${value.name} has shape [${gradient.shape.join(', ')}], not [${value.shape.join(', ')}]`,
      );
    }
    const before = pending.get(value);
    pending.set(value, before ? g.add(before, gradient) : gradient);
  };
  for (const { output, seed } of seeds) accumulate(output, seed);

  for (const node of path.reverse()) {
    if (node.outputs.slice(1).some((v) => pending.has(v)))
      throw new TypeError(`${node.op} passes no gradient from its second output`);
    const dy = pending.get(node.outputs[0]!);
    if (!dy) continue;
    const gradients = applyRule(g, recomputation.node(node), dy, (i) => active.has(node.inputs[i]!));
    node.inputs.forEach((input, i) => {
      const gradient = gradients[i];
      if (gradient && active.has(input)) accumulate(input, gradient);
    });
  }
  return new Map(wrt.map((value) => [value, pending.get(value) ?? g.zeros(value.shape as number[])]));
}

function applyRule(g: Graph, node: Node, dy: Value, needs: (i: number) => boolean): (Value | undefined)[] {
  const rule = VJP_RULES[node.op] as VjpRule<Op> | 'nondifferentiable';
  if (rule === 'nondifferentiable') throw new TypeError(`${node.op} has no gradient`);
  return rule({ g, node, dy, needs } as VjpContext<Op>);
}
