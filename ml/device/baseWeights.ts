// Holds one copy of the weights of a base model in the memory of a device. Decoding joins matrices that multiply the same rows
// into one matrix (FusedWeights). Training takes the single matrices, which are views of rows of the joined one.
import { GauntletError } from '../../core/base/errors.js';
import { isQuantized, type SessionModel } from '../engine/base.js';
import { Graph } from '../ir/graph.js';
import type { CacheType } from '../nn/cacheAttention.js';
import { fusedInputs } from '../nn/fusedWeights.js';
import { elements, type LayoutEntry } from '../nn/layout.js';
import { encodeModel } from '../onnx/encode.js';
import { DeviceSession, DeviceTensor, type MemoryKind } from './deviceSession.js';
import { readLocated } from './weightLocations.js';

export type Tensors = Record<string, DeviceTensor>;

/** The tensors of a base model. They stay until it is closed. */
interface Opened {
  fused: Tensors; // their names are those of `fusedInputs`
  parts: Tensors; // their names are those of `parameterLayout`
}

export class BaseWeights {
  private opened: Opened | undefined;

  /** Nothing is copied before the first use. @throws {GauntletError} ENGINE_FAULT if the model is quantized */
  constructor(
    private readonly model: SessionModel,
    readonly memory: MemoryKind,
    readonly type: CacheType,
  ) {
    if (isQuantized(model)) throw new GauntletError('ENGINE_FAULT', 'BaseWeights takes no quantized weights');
  }

  get tensors(): Opened {
    this.opened ??= this.open();
    return this.opened;
  }

  /** The next use copies the weights again. */
  close(): void {
    for (const tensors of [this.opened?.parts, this.opened?.fused])
      for (const tensor of Object.values(tensors ?? {})) tensor.dispose();
    this.opened = undefined;
  }

  private open(): Opened {
    const { memory, type } = this;
    const opened: Opened = { fused: {}, parts: {} };
    const writer = new TensorWriter(memory, type);
    for (const { name, shape, parts } of fusedInputs(this.model.config)) {
      const tensor = DeviceTensor.empty(memory, type, shape);
      opened.fused[name] = tensor;
      const data = new Float32Array(elements(shape)); // a bias that the checkpoint lacks is zero
      let row = 0;
      for (const part of parts) {
        const [rows = 0] = part.shape;
        data.set(this.read(part) ?? [], (row * data.length) / shape[0]!);
        opened.parts[part.name] = tensor.rows(row, rows);
        row += rows;
      }
      writer.write(tensor, data);
    }
    writer.close();
    return opened;
  }

  private read({ name, shape }: LayoutEntry): Float32Array | undefined {
    const { weights, locations } = this.model;
    if (weights) return weights.get(name)?.data;
    const location = locations.get(name);
    if (location === undefined) return undefined;
    if ('bits' in location) throw new GauntletError('ENGINE_FAULT', `${name} is quantized`);
    return readLocated(location, elements(shape));
  }
}

/** Writes f32 numbers into vectors and matrices of the given type. */
export class TensorWriter {
  private readonly casts: readonly DeviceSession[]; // the first one casts vectors, the second one matrices

  constructor(memory: MemoryKind, type: CacheType) {
    this.casts = [['n'], ['rows', 'columns']].map((dims) =>
      DeviceSession.open(encodeModel(castGraph(type, dims)), { memory }),
    );
  }

  write(tensor: DeviceTensor, data: Float32Array): void {
    if (tensor.type === 'float32') {
      tensor.write(data);
      return;
    }
    const host = DeviceTensor.around('float32', data, tensor.dims);
    runOnce(this.casts[tensor.dims.length - 1]!, { x: host }, { y: tensor });
    host.dispose();
  }

  close(): void {
    for (const session of this.casts) session.close();
  }
}

export function runOnce(session: DeviceSession, inputs: Tensors, outputs: Tensors): void {
  const binding = session.bind(inputs, outputs);
  try {
    binding.run();
  } finally {
    binding.dispose();
  }
}

/** x float32 → y in the given type. */
function castGraph(type: CacheType, dims: string[]): Graph {
  const g = new Graph();
  g.output('y', g.apply('Cast', [g.input('x', 'float32', dims)], { to: type })[0]!, { direct: true });
  return g;
}
