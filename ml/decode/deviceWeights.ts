// The weights of a model as tensors that the graphs of decoding bind. An adapter is merged into a copy of the matrices that it
// changes, or stays beside them. Another adapter changes their contents, not the tensors, so everything stays bound.
import { DeviceSession, type DeviceSessionOptions, DeviceTensor } from '../device/deviceSession.js';
import { Graph } from '../ir/graph.js';
import type { CacheType } from '../nn/cacheAttention.js';
import type { DecoderConfig } from '../nn/config.js';
import { buildMergeGraph, fuseAdapter, fusedAdapterShapes } from '../nn/fusedAdapter.js';
import { fusedInputs } from '../nn/fusedWeights.js';
import { type Adapter, elements } from '../nn/layout.js';
import { fusedLoraName } from '../nn/tensorNames.js';
import { encodeModel } from '../onnx/encode.js';

type Tensors = Record<string, DeviceTensor>;

interface DeviceWeightsOptions {
  session: DeviceSessionOptions;
  type: CacheType;
  /**
   * `merged`: faster steps, twice the memory of the matrices. Not with bfloat16, which rounds small changes away.
   * `beside`: two more products for each matrix, of this rank.
   */
  adapter: 'merged' | { beside: number };
}

export class DeviceWeights {
  /** By the names of inputs; see FusedWeights. */
  readonly tensors: Tensors = {};
  private readonly base: Tensors = {}; // of the matrices into which an adapter is merged
  private readonly casts: readonly DeviceSession[]; // of vectors and of matrices, from float32
  private readonly merge: DeviceSession;

  /** @param read gives a parameter by its name, or undefined for a bias that the checkpoint lacks. It is called for one at a time */
  constructor(
    private readonly c: DecoderConfig,
    read: (name: string) => Float32Array | undefined,
    private readonly options: DeviceWeightsOptions,
  ) {
    const { session, type, adapter } = options;
    this.casts = [['n'], ['rows', 'columns']].map((dims) =>
      DeviceSession.open(encodeModel(castGraph(type, dims)), session),
    );
    this.merge = DeviceSession.open(encodeModel(buildMergeGraph(type)), session);
    const merged = adapter === 'merged';
    const added = fusedAdapterShapes(c, merged ? 0 : adapter.beside);
    for (const { name, shape, parts } of fusedInputs(c)) {
      const tensor = this.empty(shape);
      const data = new Float32Array(elements(shape));
      let at = 0;
      for (const part of parts) {
        data.set(read(part.name) ?? [], at);
        at += elements(part.shape);
      }
      this.write(tensor, data);
      const changes = merged && added.has(fusedLoraName(name, 'A'));
      if (changes) this.base[name] = tensor;
      this.tensors[name] = changes ? this.empty(shape) : tensor;
    }
    if (!merged) for (const [name, shape] of added) this.tensors[name] = this.empty(shape);
    this.use(undefined);
  }

  /** @param adapter absent: the base model. @throws {RangeError} if it is beside the weights and has another rank */
  use(adapter: Adapter | undefined): void {
    const { adapter: place } = this.options;
    const rank = place === 'merged' ? (adapter?.rank ?? 1) : place.beside;
    if (adapter && adapter.rank !== rank) throw new RangeError(`the rank is ${adapter.rank}, the graphs have ${rank}`);
    const given = adapter && fuseAdapter(this.c, adapter);
    const zero = ([rows, columns]: [number, number]): Float32Array => new Float32Array(rows * columns);
    const shapes = fusedAdapterShapes(this.c, rank);
    const dataOf = (name: string): Float32Array => given?.get(name)?.data ?? zero(shapes.get(name)!);
    if (place !== 'merged') {
      for (const name of shapes.keys()) this.write(this.tensors[name]!, dataOf(name));
      return;
    }
    for (const [name, base] of Object.entries(this.base)) {
      const [a, b] = (['A', 'B'] as const).map((side) => {
        const lora = fusedLoraName(name, side);
        return DeviceTensor.of('float32', dataOf(lora), shapes.get(lora)!);
      }) as [DeviceTensor, DeviceTensor];
      runOnce(this.merge, { base, a, b }, { merged: this.tensors[name]! });
      a.dispose();
      b.dispose();
    }
  }

  close(): void {
    for (const session of [...this.casts, this.merge]) session.close();
    for (const tensor of [...Object.values(this.tensors), ...Object.values(this.base)]) tensor.dispose();
  }

  private empty(dims: readonly number[]): DeviceTensor {
    return DeviceTensor.empty(this.options.session.memory, this.options.type, dims);
  }
  private write(tensor: DeviceTensor, data: Float32Array): void {
    if (tensor.type === 'float32') {
      tensor.write(data);
      return;
    }
    const host = DeviceTensor.of('float32', data, tensor.dims);
    runOnce(this.casts[tensor.dims.length - 1]!, { x: host }, { y: tensor });
    host.dispose();
  }
}

function runOnce(session: DeviceSession, inputs: Tensors, outputs: Tensors): void {
  const binding = session.bind(inputs, outputs);
  try {
    binding.run();
  } finally {
    binding.dispose();
  }
}

/** x float32 → y of the type. */
function castGraph(type: CacheType, dims: string[]): Graph {
  const g = new Graph();
  g.output('y', g.apply('Cast', [g.input('x', 'float32', dims)], { to: type })[0]!, { direct: true });
  return g;
}
