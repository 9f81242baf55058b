// Compares ONNX Runtime's kernels, through our encoding, with the f64 reference interpreter: on the CPU, and on the device
// that GAUNTLET_TEST_DEVICE names.
import assert from 'node:assert/strict';
import { RandomStream } from '../../core/base/random.js';
import { replacementsFor } from '../../ml/device/replacements.js';
import { CPU, deviceOf, GraphSession, type TensorArray, tensor } from '../../ml/device/runtime.js';
import { Graph } from '../../ml/ir/graph.js';
import type { DType } from '../../ml/ir/op.js';
import { testDevice } from '../support/testDevice.js';
import { interpret, type NdArray, ndarray } from './reference/interpret.js';
import { buildCases, OPS } from './reference/opCases.js';

const TOLERANCE = 2e-6; // f32 differs so much from f64 for values of order one
const DEVICE_TOLERANCE = 2e-5; // the functions of GPUs are less exact

const ARRAYS: Partial<Record<DType, (data: Float64Array) => TensorArray>> = {
  float64: (data) => data,
  int64: (data) => BigInt64Array.from(data, BigInt),
  int32: (data) => Int32Array.from(data),
  uint8: (data) => Uint8Array.from(data),
};

/** The outputs of a graph by name. */
async function run(graph: Graph, feeds: Record<string, NdArray>, device = CPU) {
  const session = await GraphSession.open(graph, { device });
  try {
    const inputs = graph.inputs.map(({ name, dtype }) => {
      const { data, shape } = feeds[name]!;
      return [name, tensor(ARRAYS[dtype]?.(data) ?? Float32Array.from(data), shape)] as const;
    });
    const out = await session.run(Object.fromEntries(inputs));
    const numbers = (data: unknown): number[] => Array.from(data as ArrayLike<number | bigint>, Number);
    return Object.fromEntries(Object.entries(out).map(([name, t]) => [name, { dims: t.dims, data: numbers(t.data) }]));
  } finally {
    await session.close();
  }
}

async function assertAgrees(
  graph: Graph,
  feeds: Record<string, NdArray>,
  tolerance = TOLERANCE,
  device = CPU,
): Promise<void> {
  const expected = interpret(graph, feeds);
  const actual = await run(graph, feeds, device);
  for (const [name, { shape, data }] of Object.entries(expected)) {
    assert.deepEqual([...actual[name]!.dims], [...shape], `shape of ${name}`);
    data.forEach((v, k) => {
      assert.ok(
        Math.abs(actual[name]!.data[k]! - v) < tolerance * Math.max(1, Math.abs(v)),
        `${name}[${k}]: ${actual[name]!.data[k]} is not ${v}`,
      );
    });
  }
}

describe('ONNX Runtime agrees with the reference interpreter', () => {
  for (const op of OPS)
    for (const { title, graph, feeds } of buildCases(op)) it(title, () => assertAgrees(graph, feeds));

  it('a graph with symbolic sizes runs at any size', async () => {
    const build = (): Graph => {
      const g = new Graph();
      const [x, past] = [g.input('x', 'float32', ['B', 6]), g.input('past', 'float32', ['B', 2, 'P', 3])];
      const fresh = g.reshape(x, ['B', 2, 1, 3]);
      const all = g.concat([past, fresh], 2);
      assert.deepEqual(all.shape, ['B', 2, 'P+1', 3]);
      g.output('scores', g.softmax(g.fusedMatMul(fresh, all, { transB: true })));
      return g;
    };
    const random = new RandomStream('symbolic');
    const fill = (shape: number[]): NdArray =>
      ndarray(
        shape,
        Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.uniform()),
      );
    for (const [B, P] of [
      [1, 4],
      [3, 2],
    ] as const)
      await assertAgrees(build(), { x: fill([B, 6]), past: fill([B, 2, P, 3]) });
  });

  it('one constant can be two outputs', async () => {
    const g = new Graph();
    const x = g.input('x', 'float32', [2]);
    g.output('first', x);
    g.output('second', g.add(x, g.scalar(1)));
    g.output('third', x);
    await assertAgrees(g, { x: ndarray([2], [3, 4]) });
  });
});

describe('what replaces operations on CUDA agrees with the reference interpreter', () => {
  const replacements = replacementsFor('cuda');
  for (const op of OPS.filter((name) => name in replacements))
    for (const { title, graph, feeds } of buildCases(op))
      it(title, async () => {
        await assertAgrees(graph, feeds, TOLERANCE, { ...CPU, replacements });
      });
});

describe('a device agrees with the reference interpreter', () => {
  it('computes every case of every operation (GAUNTLET_TEST_DEVICE)', async function () {
    const device = deviceOf(testDevice(this));
    for (const op of OPS)
      for (const { title, graph, feeds } of buildCases(op))
        await assertAgrees(graph, feeds, DEVICE_TOLERANCE, device).catch((error: Error) => {
          throw new Error(`${title}: ${error.message}`, { cause: error });
        });
  });
});
