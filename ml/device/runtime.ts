// The only place that opens ONNX Runtime sessions. All options that can change bits (prepacking does, threads do not) are
// the same in every process. A run blocks its thread, so sessions live in worker threads.
import ort from 'onnxruntime-node';
import { GauntletError } from '../../core/errors.js';
import type { Graph } from '../ir/graph.js';
import { type Replacements, replaceOperations } from '../ir/replace.js';
import { encodeModel } from '../onnx/encode.js';
import type { Provider } from './providers.js';
import { replacementsFor } from './replacements.js';
import { LOCATION_ROOT } from './weightLocations.js';

export type Tensor = ort.Tensor;
export type TensorArray = Float32Array | BigInt64Array | Int32Array | Uint8Array;

// a thread serves one engine, and an engine has one device
let device: { provider: Provider; replacements: Replacements } = { provider: 'cpu', replacements: {} };

/** Sets the provider for the sessions of this thread. Nodes that a GPU provider does not support run on the CPU. */
export function useProvider(provider: Provider, replacements = replacementsFor(provider)): void {
  device = { provider, replacements };
}

export interface SessionOptions {
  threads?: number; // default 1
  /**
   * How weights in files are used. `mapped`: in place, and recomputed values stay recomputed. `packed`: the runtime may
   * keep a reordered copy of packed matrices for its kernels. `constantFolded`: the runtime keeps a copy of all of them
   * in f32. Absent: the weights are inputs, or in `memory`.
   */
  weights?: 'mapped' | 'packed' | 'constantFolded';
  /**
   * For graphs of many nodes that run for seconds. Optimization would take as long as a run, and it would merge a
   * recomputation with the value that it replaces.
   */
  optimizationsDisabled?: boolean;
  memory?: { location: string; data: Float32Array }; // bytes of external constants that are in no file
}

// Folding constants would unpack weights once and keep them; merging common subexpressions would undo recomputation;
// quant_qdq would turn products of unpacked weights into products of packed ones.
const KEEP_GRAPH = ['ConstantFolding', 'CommonSubexpressionElimination'];
const NEEDS_CUDNN = 'BiasSoftmaxFusion'; // on CUDA; nothing else of our graphs needs cuDNN

// Graphs that run for milliseconds alternate on the same cores. By default, the threads of a waiting graph would spin and
// slow down the running one.
const SHORT_RUNS = { session: { force_spinning_stop: '1' } };

function extraOptions(weights: SessionOptions['weights'], provider: Provider) {
  const disabled = weights && weights !== 'constantFolded' ? [...KEEP_GRAPH] : [];
  if (provider === 'cuda') disabled.push(NEEDS_CUDNN);
  const optimization = disabled.length > 0 && { optimization: { disable_specified_optimizers: disabled.join(';') } };
  if (!weights) return { ...SHORT_RUNS, ...optimization };
  const session = {
    model_external_initializers_file_folder_path: LOCATION_ROOT,
    disable_quant_qdq: '1',
    disable_prepacking: weights === 'mapped' ? '1' : '0',
  };
  return { session, ...optimization };
}
const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A compiled graph. Inputs and results are by name. */
export class GraphSession {
  private constructor(
    private readonly session: ort.InferenceSession,
    readonly memory: SessionOptions['memory'], // must not be collected before the session
  ) {}

  /** Changes the graph to suit the device. @throws {GauntletError} ENGINE_FAULT if the runtime refuses it */
  static async open(
    graph: Graph,
    { threads = 1, weights, memory, optimizationsDisabled = false }: SessionOptions = {},
  ): Promise<GraphSession> {
    const { provider, replacements } = device;
    if (Object.keys(replacements).length > 0) replaceOperations(graph, replacements);
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
          extra: extraOptions(weights, provider),
          ...(memory && { externalData: [{ path: memory.location, data: bytesOf(memory.data) }] }),
        }),
        memory,
      );
    } catch (cause) {
      throw new GauntletError('ENGINE_FAULT', `the model graph does not load: ${(cause as Error).message}`, { cause });
    }
  }

  /** @throws {GauntletError} ENGINE_FAULT */
  async run(feeds: Record<string, Tensor>): Promise<Record<string, Tensor>> {
    try {
      return (await this.session.run(feeds)) as Record<string, Tensor>;
    } catch (cause) {
      throw new GauntletError('ENGINE_FAULT', `the model graph failed: ${(cause as Error).message}`, { cause });
    }
  }

  async close(): Promise<void> {
    await this.session.release();
  }
}

/** Wraps an array, without a copy, as a tensor. The array must not be in shared memory. */
export function tensor(data: TensorArray, dims: readonly number[]): Tensor {
  if (data instanceof Uint8Array) return new ort.Tensor('uint8', data, dims);
  const type = data instanceof Float32Array ? 'float32' : data instanceof BigInt64Array ? 'int64' : 'int32';
  return new ort.Tensor(type, data, dims);
}

/** Views of named tensors as the inputs of a graph. */
export const tensors = (
  views: Iterable<readonly [string, { shape: readonly number[]; data: Float32Array }]>,
): Record<string, Tensor> =>
  Object.fromEntries([...views].map(([name, { data, shape }]) => [name, tensor(data, shape)]));
