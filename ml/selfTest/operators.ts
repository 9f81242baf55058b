// Runs the cases of every operation on the device in use.
import { GraphSession, type TensorArray, tensor } from '../device/runtime.js';
import type { DType, Op } from '../ir/op.js';
import { type BuiltCase, buildCases, OPS } from './opCases.js';

const ARRAYS: Partial<Record<DType, (data: Float64Array) => TensorArray>> = {
  int64: (data) => BigInt64Array.from(data, BigInt),
  int32: (data) => Int32Array.from(data),
  uint8: (data) => Uint8Array.from(data),
};

export type Outputs = Record<string, { dims: readonly number[]; data: number[] }>;

/** The outputs of a graph by name. */
export async function runCase({ graph, feeds }: Pick<BuiltCase, 'graph' | 'feeds'>): Promise<Outputs> {
  const session = await GraphSession.open(graph);
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

/** All cases. The result has an error's message where a case fails. */
export async function runAllCases(): Promise<{ op: Op; result: Outputs | string }[]> {
  const results: { op: Op; result: Outputs | string }[] = [];
  for (const op of OPS)
    for (const built of buildCases(op))
      results.push({ op, result: await runCase(built).catch((error: Error) => error.message) });
  return results;
}
