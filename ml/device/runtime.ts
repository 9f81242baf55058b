// The only place that opens ONNX Runtime sessions. All options that can change bits (prepacking does, threads do not) are
// the same in every process. A run blocks its thread, so sessions live in worker threads.
import ort from 'onnxruntime-node';
import { GauntletError } from '../../core/base/errors.js';
import { bfloat16Bits, float16Bits } from '../ir/bits16.js';
import { dtypeOf, type Graph } from '../ir/graph.js';
import type { Half } from '../ir/half.js';
import type { DType, InlineData } from '../ir/op.js';
import { type Replacements, replaceOperations } from '../ir/replace.js';
import { encodeModel } from '../onnx/encode.js';
import { DeviceSession, DeviceTensor, type Elements, type MemoryKind } from './deviceSession.js';
import type { Provider } from './providers.js';
import { replacementsFor } from './replacements.js';
import { SharedConstants } from './sharedConstants.js';
import { LOCATION_ROOT } from './weightLocations.js';

ort.env.logLevel = 'error'; // the first session sets the level of the process

export type Tensor = ort.Tensor;
export type Feeds = Record<string, Tensor | DeviceTensor>;
export type TensorArray = InlineData | Uint16Array;

/** How a session computes. Nodes that a GPU provider does not support run on the CPU. */
export interface SessionDevice {
  provider: Provider;
  replacements: Replacements;
  memory?: MemoryKind | undefined; // where the C API holds feeds; absent: onnxruntime-node runs the graph, and holds none
}

export const CPU: SessionDevice = { provider: 'cpu', replacements: {} };

export const deviceOf = (provider: Provider): SessionDevice => ({
  provider,
  replacements: replacementsFor(provider),
  memory: provider === 'cuda' ? 'cuda' : undefined,
});

export interface SessionOptions {
  device?: SessionDevice; // default: CPU
  threads?: number; // default 1
  /**
   * How weights in files are used. `mapped`: they stay in place, and recomputed values stay recomputed. `packed`: the runtime
   * may keep a reordered copy of packed matrices for its kernels. `constantFolded`: the runtime keeps a copy of all weights
   * in f32. Absent: the weights are inputs, or in `memory`.
   */
  weights?: 'mapped' | 'packed' | 'constantFolded';
  /**
   * True for graphs of many nodes that run for seconds: optimization would take as long as a run, and it would merge a
   * recomputation with the value that it replaces.
   */
  optimizationsDisabled?: boolean;
  memory?: { location: string; data: Float32Array }; // takes the place of a file that does not exist
}

// Folding constants would unpack weights once and keep them; merging common subexpressions would undo recomputation;
// quant_qdq would turn products of unpacked weights into products of packed ones.
const KEEP_GRAPH = { 'optimization.disable_specified_optimizers': 'ConstantFolding;CommonSubexpressionElimination' };

// Graphs that run for milliseconds alternate on the same cores. By default, the threads of a waiting graph would spin and
// slow down the running one.
const SHORT_RUNS = { 'session.force_spinning_stop': '1' };

function configEntries(weights: SessionOptions['weights']): Record<string, string> {
  if (!weights) return SHORT_RUNS;
  const session = {
    'session.model_external_initializers_file_folder_path': LOCATION_ROOT,
    'session.disable_quant_qdq': '1',
    'session.disable_prepacking': weights === 'mapped' ? '1' : '0',
  };
  return weights === 'constantFolded' ? session : { ...session, ...KEEP_GRAPH };
}
const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A compiled graph. Inputs and results are by name. */
export class GraphSession {
  private constructor(
    private readonly session: Pick<ort.InferenceSession, 'run' | 'release'> | DeviceGraph,
    readonly memory: SessionOptions['memory'], // must not be collected before the session
  ) {}

  /** Changes the graph to suit the device. @throws {GauntletError} ENGINE_FAULT if the runtime refuses it */
  static async open(graph: Graph, options: SessionOptions = {}): Promise<GraphSession> {
    const { provider, replacements, memory: deviceMemory } = options.device ?? CPU;
    if (Object.keys(replacements).length > 0) replaceOperations(graph, replacements);
    if (deviceMemory) return new GraphSession(new DeviceGraph(graph, options, deviceMemory), options.memory);
    const { threads = 1, weights, memory, optimizationsDisabled = false } = options;
    const model = encodeModel(graph);
    try {
      return new GraphSession(
        await ort.InferenceSession.create(model, {
          executionProviders: [provider],
          intraOpNumThreads: threads,
          interOpNumThreads: 1,
          executionMode: 'sequential',
          graphOptimizationLevel: optimizationsDisabled ? 'disabled' : 'all',
          enableMemPattern: false,
          enableCpuMemArena: false, // each open graph would keep the peak of its activations
          logSeverityLevel: 3,
          extra: configEntries(weights),
          ...(memory && { externalData: [{ path: memory.location, data: bytesOf(memory.data) }] }),
        }),
        memory,
      );
    } catch (cause) {
      throw new GauntletError('ENGINE_FAULT', `the model graph does not load: ${(cause as Error).message}`, { cause });
    }
  }

  /** Feeds that the graph does not have are ignored. @throws {GauntletError} ENGINE_FAULT */
  async run(feeds: Feeds): Promise<Record<string, Tensor>> {
    if (this.session instanceof DeviceGraph) return this.session.run(feeds);
    try {
      return (await this.session.run(feeds as Record<string, Tensor>)) as Record<string, Tensor>;
    } catch (cause) {
      throw new GauntletError('ENGINE_FAULT', `the model graph failed: ${(cause as Error).message}`, { cause });
    }
  }

  async close(): Promise<void> {
    await this.session.release();
  }
}

/** A graph on a GPU. Feeds on the host are copied there, and results from there. */
class DeviceGraph {
  private readonly session: DeviceSession;
  private readonly inputs: ReadonlySet<string>;
  private readonly outputs: readonly string[];
  private readonly constants: SharedConstants | undefined; // inputs that were constants in files

  constructor(
    graph: Graph,
    { threads, weights, memory: externalData, optimizationsDisabled }: SessionOptions,
    memory: MemoryKind,
  ) {
    // packed matrices stay constants on a CPU: it would multiply inputs with other kernels
    const shares = weights === 'mapped' || (weights === 'packed' && memory === 'cuda');
    this.constants = shares ? new SharedConstants(graph, memory) : undefined;
    this.inputs = new Set(graph.inputs.map(({ name }) => name));
    this.outputs = graph.outputs.map(({ name }) => name);
    try {
      this.session = DeviceSession.open(encodeModel(graph), {
        memory,
        threads,
        optimizationsDisabled,
        config: configEntries(weights),
        externalData,
      });
    } catch (error) {
      this.constants?.release();
      throw error;
    }
  }

  run(feeds: Feeds): Record<string, Tensor> {
    const hosts: DeviceTensor[] = [];
    const bound = Object.entries({ ...this.constants?.feeds, ...feeds }).flatMap(([name, feed]) => {
      if (!this.inputs.has(name)) return [];
      if (feed instanceof DeviceTensor) return [[name, feed] as const];
      const host = DeviceTensor.around(feed.type as DType, feed.data as Elements, feed.dims);
      hosts.push(host);
      return [[name, host] as const];
    });
    try {
      const results = this.session.run(Object.fromEntries(bound), this.outputs);
      const entries = Object.entries(results).map(([name, { type, data, dims }]) => [
        name,
        new ort.Tensor(type as 'float32', data as Float32Array, dims),
      ]);
      return Object.fromEntries(entries);
    } finally {
      for (const each of hosts) each.dispose();
    }
  }

  release(): void {
    this.session.close();
    this.constants?.release();
  }
}

/** Inputs that many runs share. They are copied to a GPU once. */
export class HeldFeeds {
  readonly feeds: Feeds;

  /** @param halfOf which inputs the graph takes in 16 bits */
  constructor({ memory }: SessionDevice, views: Iterable<NamedView>, halfOf: (name: string) => Half | undefined) {
    const entries = [...views].map(([name, { data, shape }]) => {
      const half = halfOf(name);
      const numbers = half === undefined ? data : BITS[half](data);
      const onDevice = () => DeviceTensor.of(half ?? 'float32', numbers, shape, memory);
      return [name, memory ? onDevice() : tensor(numbers, shape)] as const;
    });
    this.feeds = Object.fromEntries(entries);
  }

  dispose(): void {
    for (const feed of Object.values(this.feeds)) if (feed instanceof DeviceTensor) feed.dispose();
  }
}

const BITS = { float16: float16Bits, bfloat16: bfloat16Bits };

/** Wraps an array, without a copy, as a tensor. The array must not be in shared memory. */
export function tensor(data: TensorArray, dims: readonly number[]): Tensor {
  // for float16, the class makes a Float16Array where one exists (Node 24), which the binding does not accept
  if (data instanceof Uint16Array) return Object.assign(new ort.Tensor('uint16', data, dims), { type: 'float16' });
  return new ort.Tensor(dtypeOf(data) as 'float32', data as Float32Array, dims);
}

type NamedView = readonly [string, { shape: readonly number[]; data: Float32Array }];

/** Wraps views of named tensors as inputs of a graph. */
export const tensors = (views: Iterable<NamedView>): Record<string, Tensor> =>
  Object.fromEntries([...views].map(([name, { data, shape }]) => [name, tensor(data, shape)]));
