// What the graphs of decoding bind: the weights of the base, and an adapter. The adapter is merged into a copy of the matrices
// that it changes, or stays beside them. Another adapter changes the contents of the tensors, and everything stays bound.
import { type BaseWeights, runOnce, type Tensors, TensorWriter } from '../device/baseWeights.js';
import { DeviceSession, DeviceTensor } from '../device/deviceSession.js';
import type { DecoderConfig } from '../nn/config.js';
import { buildMergeGraph, fuseAdapter, fusedAdapterShapes } from '../nn/fusedAdapter.js';
import type { Adapter } from '../nn/layout.js';
import { fusedLoraName } from '../nn/tensorNames.js';
import { encodeModel } from '../onnx/encode.js';

/**
 * `merged`: steps are faster, and the matrices take twice the memory. bfloat16 would round small changes away.
 * `beside`: an adapter of this rank adds two products to each matrix.
 */
export type AdapterPlace = 'merged' | { beside: number };

export class DeviceWeights {
  /** The tensors. Each has the name of the input of FusedWeights to which it is bound. */
  readonly tensors: Tensors;
  private readonly own: Tensors = {}; // the tensors that do not belong to the base
  private readonly writer: TensorWriter;
  private readonly merge: DeviceSession;

  constructor(
    private readonly c: DecoderConfig,
    private readonly base: BaseWeights,
    private readonly place: AdapterPlace,
  ) {
    const { memory, type } = base;
    const { fused } = base.tensors;
    this.writer = new TensorWriter(memory, type);
    this.merge = DeviceSession.open(encodeModel(buildMergeGraph(type)), { memory });
    const added = fusedAdapterShapes(c, place === 'merged' ? 0 : place.beside);
    if (place === 'merged') {
      for (const [name, { dims }] of Object.entries(fused))
        if (added.has(fusedLoraName(name, 'A'))) this.own[name] = DeviceTensor.empty(memory, type, dims);
    } else {
      for (const [name, shape] of added) this.own[name] = DeviceTensor.empty(memory, type, shape);
    }
    this.tensors = { ...fused, ...this.own };
    this.use(undefined);
  }

  /** @param adapter absent: the base model. @throws {RangeError} if the adapter is beside the weights and has another rank */
  use(adapter: Adapter | undefined): void {
    const { place } = this;
    const rank = place === 'merged' ? (adapter?.rank ?? 1) : place.beside;
    if (adapter && adapter.rank !== rank)
      throw new RangeError(`the adapter has rank ${adapter.rank}, the graphs have rank ${rank}`);
    const given = adapter && fuseAdapter(this.c, adapter);
    const zero = ([rows, columns]: [number, number]): Float32Array => new Float32Array(rows * columns);
    const shapes = fusedAdapterShapes(this.c, rank);
    const dataOf = (name: string): Float32Array => given?.get(name)?.data ?? zero(shapes.get(name)!);
    if (place !== 'merged') {
      for (const name of shapes.keys()) this.writer.write(this.own[name]!, dataOf(name));
      return;
    }
    for (const [name, merged] of Object.entries(this.own)) {
      const [a, b] = (['A', 'B'] as const).map((side) => {
        const lora = fusedLoraName(name, side);
        return DeviceTensor.of('float32', dataOf(lora), shapes.get(lora)!);
      }) as [DeviceTensor, DeviceTensor];
      runOnce(this.merge, { base: this.base.tensors.fused[name]!, a, b }, { merged });
      a.dispose();
      b.dispose();
    }
  }

  close(): void {
    this.writer.close();
    this.merge.close();
    for (const tensor of Object.values(this.own)) tensor.dispose();
  }
}
