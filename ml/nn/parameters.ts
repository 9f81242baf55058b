// How a graph gets its parameters: as inputs that every run feeds (any weights, merged or trained, in one compiled
// graph), or as constants that stay in their safetensors file and are mapped into memory (one copy for all graphs and
// threads). The layers ask by name and never know which.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';

/** Bytes of a parameter in a file: little endian, row major. */
export interface StoredTensor {
  dtype: 'float32' | 'bfloat16';
  location: string; // file name, relative to the folder that the session is told
  offset: number; // in bytes
  length: number;
}
/** What is not in the plan is an input. */
export type ParameterPlan = ReadonlyMap<string, StoredTensor>;

export class Parameters {
  /** Those that are inputs, by name. */
  readonly inputs = new Map<string, Value>();
  private readonly stored = new Map<string, Value>();

  constructor(
    private readonly g: Graph,
    private readonly plan: ParameterPlan = new Map(),
  ) {}

  /** The whole parameter in f32. */
  get(name: string, shape: readonly number[]): Value {
    return this.g.cast(this.raw(name, shape), 'float32');
  }

  /** Rows of a matrix, in f32, without converting the others. ids int64 [n] → [n, width] */
  rows(name: string, shape: readonly number[], ids: Value): Value {
    return this.g.cast(this.g.gather(this.raw(name, shape), ids), 'float32');
  }

  /** x·Wᵀ + b. x [n, in], W [out, in] */
  linear(x: Value, name: string, shape: readonly [number, number], bias: boolean): Value {
    const c = bias ? this.get(`${name}.bias`, [shape[0]]) : undefined;
    return this.g.gemm(x, this.get(`${name}.weight`, shape), { transB: true, c });
  }

  private raw(name: string, shape: readonly number[]): Value {
    const known = this.inputs.get(name) ?? this.stored.get(name);
    if (known) return known;
    const tensor = this.plan.get(name);
    if (!tensor) {
      const value = this.g.input(name, 'float32', shape);
      this.inputs.set(name, value);
      return value;
    }
    const { dtype, location, offset, length } = tensor;
    const value = this.g.external(name, dtype, shape, location, offset, length);
    this.stored.set(name, value);
    return value;
  }
}
