// Compares every gradient rule with central differences of the f64 interpreter. The two are independent: neither knows
// the other's formulas.
import assert from 'node:assert/strict';
import { RandomStream } from '../../core/base/random.js';
import { backward } from '../../ml/autodiff/backward.js';
import { VJP_RULES } from '../../ml/autodiff/rules.js';
import { Graph } from '../../ml/ir/graph.js';
import { type Op, sizeOf } from '../../ml/ir/op.js';
import { verify } from '../../ml/ir/verify.js';
import { interpret, interpretAll, type NdArray, ndarray } from './reference/interpret.js';
import { type BuiltCase, buildCases, OPS } from './reference/opCases.js';

const STEP = 1e-5;
const TOLERANCE = 1e-6; // in f64, central differences are off by about STEP² plus rounding / STEP

/** Compares the graph's gradient of Σ seed·y0 with central differences for every element of every float input. */
function checkGradients({ graph, feeds, floats }: Pick<BuiltCase, 'graph' | 'feeds' | 'floats'>): void {
  const y = graph.outputs[0]!.value;
  const random = new RandomStream('seed');
  const seed = ndarray(
    y.shape as number[],
    Array.from({ length: sizeOf(y.shape) }, () => 2 * random.uniform() - 1),
  );
  const wrt = graph.inputs.filter((input) => floats.includes(input.name));
  const objective = (point: Record<string, NdArray>): number =>
    interpret(graph, { ...point, seed })[graph.outputs[0]!.name]!.data.reduce(
      (sum, v, k) => sum + v * seed.data[k]!,
      0,
    );
  const gradients = backward(graph, [{ output: y, seed: graph.input('seed', 'float32', y.shape) }], wrt);
  verify(graph);
  const values = interpretAll(graph, { ...feeds, seed });
  for (const input of wrt) {
    const analytic = values.get(gradients.get(input)!)!;
    assert.deepEqual([...analytic.shape], [...input.shape]);
    const { shape, data } = feeds[input.name]!;
    data.forEach((_, k) => {
      const moved = (by: number): number =>
        objective({ ...feeds, [input.name]: { shape, data: data.with(k, data[k]! + by) } });
      const numeric = (moved(STEP) - moved(-STEP)) / (2 * STEP);
      assert.ok(
        Math.abs(analytic.data[k]! - numeric) < TOLERANCE * Math.max(1, Math.abs(numeric)),
        `d/d${input.name}[${k}]: ${analytic.data[k]} is not ${numeric}`,
      );
    });
  }
}

const isDifferentiable = (op: Op): boolean => VJP_RULES[op] !== 'nondifferentiable';

describe('gradient rules agree with finite differences', () => {
  for (const op of OPS.filter(isDifferentiable))
    for (const built of buildCases(op)) it(built.title, () => checkGradients(built));

  it('refuse an operation without a gradient on the path to a parameter', () => {
    for (const op of OPS.filter((o) => !isDifferentiable(o))) {
      const { graph } = buildCases(op)[0]!;
      const y = graph.outputs[0]!.value;
      const seed = graph.input('seed', 'float32', y.shape);
      assert.throws(() => backward(graph, [{ output: y, seed }], [graph.inputs[0]!]), {
        message: `${op} has no gradient`,
      });
    }
  });

  it('refuse Gather on an axis other than 0', () => {
    const g = new Graph();
    const data = g.input('data', 'float32', [2, 3]);
    const y = g.gather(data, g.indices([1]), 1);
    assert.throws(() => backward(g, [{ output: y, seed: y }], [data]), /axis 0/);
  });
});

describe('backward', () => {
  it('refuses gradients of the rotary tables', () => {
    const { graph } = buildCases('RotaryEmbedding')[0]!;
    const y = graph.outputs[0]!.value;
    assert.throws(() => backward(graph, [{ output: y, seed: y }], [graph.inputs[2]!]), /no gradient for its tables/);
  });

  it('adds the gradients of a value that is used twice', () => {
    const graph = new Graph();
    const x = graph.input('x', 'float32', [2, 2]);
    graph.output('y', graph.add(graph.mul(x, graph.sigmoid(x)), graph.matMul(x, x)));
    checkGradients({ graph, feeds: { x: ndarray([2, 2], [0.3, -0.8, 0.5, 1.1]) }, floats: ['x'] });
  });

  it('gives zeros for a parameter that the output does not depend on', () => {
    const g = new Graph();
    const [x, other] = [g.input('x', 'float32', [2]), g.input('other', 'float32', [3])];
    const y = g.exp(x);
    g.output('gradient', backward(g, [{ output: y, seed: y }], [x, other]).get(other)!);
    const { gradient } = interpret(g, { x: ndarray([2], [1, 2]), other: ndarray([3], [1, 2, 3]) });
    assert.deepEqual([...gradient!.data], [0, 0, 0]);
  });

  it('adds no nodes for constant inputs', () => {
    const g = new Graph();
    const [x, w] = [g.input('x', 'float32', [2, 3]), g.input('w', 'float32', [4, 3])];
    const y = g.gemm(x, w, { transB: true });
    const before = g.nodes.length;
    backward(g, [{ output: y, seed: y }], [x]);
    assert.equal(g.nodes.length, before + 1);
  });

  it('refuses a seed of another shape, and a gradient into the statistics of a norm', () => {
    const g = new Graph();
    const x = g.input('x', 'float32', [2, 3]);
    assert.throws(() => backward(g, [{ output: g.exp(x), seed: g.scalar(1) }], [x]), /has shape \[\], not \[2, 3\]/);
    const inverse = g.apply('SimplifiedLayerNormalization', [x, g.constant('s', [3], Float32Array.of(1, 1, 1))], {
      epsilon: 1,
    })[1]!;
    assert.throws(() => backward(g, [{ output: inverse, seed: inverse }], [x]), /second output/);
  });
});
