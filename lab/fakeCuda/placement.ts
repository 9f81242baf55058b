// Finds operations of our graphs that have no kernel in the CUDA provider. ONNX Runtime would compute them on the CPU and copy
// their inputs and outputs. Checks the graphs of bound decoding and of the self-test, which use every feature.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeviceSession } from '../../ml/device/deviceSession.js';
import { deviceOf, GraphSession } from '../../ml/device/runtime.js';
import { Graph } from '../../ml/ir/graph.js';
import type { Node, Op, Value } from '../../ml/ir/op.js';
import { OPERATIONS } from '../../ml/ir/shapes.js';
import { encodeModel } from '../../ml/onnx/encode.js';
import { selfTestCases } from '../../ml/selfTest/cases.js';
import { decodingGraphs } from './steps.js';

export interface SelfTestRun {
  graphs: Graph[]; // the graphs that ONNX Runtime received
  failures: string[]; // the names of programs that do not run
}

/** Runs every program of the self-test on CUDA. The resulting numbers are meaningless here. */
export async function runSelfTest(): Promise<SelfTestRun> {
  const graphs = [otherOperations(), ...decodingGraphs()];
  const failures: string[] = [];
  const open = GraphSession.open;
  GraphSession.open = (graph, options) => {
    graphs.push(graph);
    return open(graph, options);
  };
  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-fake-cuda-'));
  try {
    for (const { name, half, run } of selfTestCases(folder))
      for (const type of half === undefined ? [undefined] : ([undefined, 'float16'] as const))
        await run(deviceOf('cuda'), type).catch((error: Error) =>
          failures.push(`${name}, ${type ?? 'f32'}: ${error.message}`),
        );
  } finally {
    GraphSession.open = open;
    rmSync(folder, { recursive: true });
  }
  return { graphs, failures };
}

/** The gradient of this operation exists in no program, because no objective needs it. */
function otherOperations(): Graph {
  const g = new Graph();
  const x = g.input('x', 'float32', [4, 8]);
  const indices = g.input('indices', 'int64', [4, 1]);
  g.scatterElements(x, indices, g.gatherElements(x, indices, 1), 1);
  return g;
}

/** The operations of `graphs` with element types for which CUDA has no kernel. */
export function withoutKernel(graphs: readonly Graph[]): string[] {
  const nodes = new Map(graphs.flatMap((graph) => graph.nodes.map((node) => [signature(node), node] as const)));
  return [...nodes].flatMap(([name, node]) => (runsOnCuda(alone(node)) ? [] : [name])).sort();
}

/** The operations that no graph contains. */
export function unused(graphs: readonly Graph[]): Op[] {
  const used = new Set(graphs.flatMap(({ nodes }) => nodes.map(({ op }) => op)));
  return OPERATIONS.filter((op) => !used.has(op)).sort();
}

function signature({ op, inputs, outputs }: Node): string {
  const types = (values: readonly Value[]): string => [...new Set(values.map(({ dtype }) => dtype))].join(', ');
  return `${op}(${types(inputs)}) → ${types(outputs)}`;
}

/** Makes a graph of one operation. */
function alone({ op, inputs, attrs }: Node): Graph {
  const g = new Graph();
  const own = new Map([...new Set(inputs)].map((x, i) => [x, g.input(`x${i}`, x.dtype, x.shape)]));
  const given = inputs.map((x) => own.get(x)!);
  for (const [i, y] of g.apply(op, given, attrs).entries()) g.output(`y${i}`, y);
  return g;
}

function runsOnCuda(graph: Graph): boolean {
  const config = { 'session.disable_cpu_ep_fallback': '1' };
  try {
    DeviceSession.open(encodeModel(graph), { memory: 'cuda', optimizationsDisabled: true, config }).close();
    return true;
  } catch (error) {
    if (/fallback to CPU EP has been explicitly disabled/.test((error as Error).message)) return false;
    throw error;
  }
}
