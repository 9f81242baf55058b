// Checks which forward values a backward pass reads, and that reading fewer of them changes no number.
import assert from 'node:assert/strict';
import { backward } from '../../ml/autodiff/backward.js';
import { Graph } from '../../ml/ir/graph.js';
import type { Value } from '../../ml/ir/op.js';
import { verify } from '../../ml/ir/verify.js';
import { interpret, ndarray } from './reference/interpret.js';

const STEPS = 4;

/** Applies x → exp(−sigmoid(x·w)) four times. Returns the inputs of each step. Weights are cast from int32. */
function chain(): { g: Graph; x: Value; entering: Value[]; y: Value } {
  const g = new Graph();
  const x = g.input('x', 'float32', [2, 2]);
  const entering: Value[] = [];
  let y = x;
  for (let step = 0; step < STEPS; step++) {
    entering.push(y);
    const w = g.cast(g.constant(`w${step}`, [2, 2], Int32Array.of(1, -1, 2, step)), 'float32');
    y = g.exp(g.neg(g.sigmoid(g.matMul(y, w))));
  }
  return { g, x, entering, y };
}

/** Builds the gradient of Σ y. Returns the forward values that its nodes read. */
function differentiate(keep?: (c: ReturnType<typeof chain>) => Set<Value>): {
  g: Graph;
  read: Set<Value>;
  c: ReturnType<typeof chain>;
} {
  const c = chain();
  const { g, x, y } = c;
  const forward = new Set(g.nodes.flatMap((node) => node.outputs));
  const count = g.nodes.length;
  g.output('dx', backward(g, [{ output: y, seed: g.expand(g.scalar(1), [2, 2]) }], [x], keep?.(c)).get(x)!);
  const later = g.nodes.slice(count);
  g.prune();
  verify(g);
  const used = later.filter((node) => g.nodes.includes(node)).flatMap((node) => node.inputs);
  return { g, c, read: new Set(used.filter((v) => forward.has(v))) };
}

describe('a backward pass', () => {
  const feeds = { x: ndarray([2, 2], [0.1, -0.4, 0.7, 0.2]) };

  it('reads only checkpoints from the forward pass if there are some, and gives the same gradient', () => {
    const plain = differentiate();
    const sparse = differentiate(({ entering }) => new Set(entering));
    assert.ok(plain.read.size > STEPS);
    const { entering } = sparse.c;
    assert.deepEqual(
      [...sparse.read].filter((v) => !entering.includes(v)).map((v) => v.name),
      [],
    );
    assert.deepEqual(interpret(sparse.g, feeds), interpret(plain.g, feeds));
  });

  it('recomputes each value once', () => {
    const { g } = differentiate(({ entering }) => new Set(entering));
    const count = (op: string): number => g.nodes.filter((node) => node.op === op).length;
    for (const op of ['Sigmoid', 'Cast']) assert.equal(count(op), 2 * STEPS - 1, op); // no output needs the last step of the forward pass
  });

  it('never keeps values that depend on constants only', () => {
    const { g, c } = differentiate();
    g.output('y', c.y);
    const { g: whole, y } = chain();
    whole.output('y', y);
    const casts = whole.nodes.filter((node) => node.op === 'Cast').length;
    assert.equal(g.nodes.filter((node) => node.op === 'Cast').length, 2 * casts);
  });

  it('loses exactly the nodes that no output needs when its graph is pruned', () => {
    const { g, y, x } = chain();
    g.output('y', y);
    const needed = g.nodes.length;
    g.exp(g.neg(x));
    g.prune();
    assert.equal(g.nodes.length, needed);
    verify(g);
  });
});
