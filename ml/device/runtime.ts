// The only place that opens ONNX Runtime sessions. Options are pinned: everything that may change bits (threads are not
// among it, prepacking is) is the same in every process. A run blocks its thread, so sessions live in worker threads.
import ort from 'onnxruntime-node';
import { GauntletError } from '../../core/errors.js';
import type { Provider } from './providers.js';
import { PLAN_ROOT } from './weightLocations.js';

export type Tensor = ort.Tensor;
export type TensorArray = Float32Array | BigInt64Array | Int32Array | Uint8Array;
export interface Feed {
  data: TensorArray; // read in place, not copied; must not lie in shared memory
  dims: readonly number[];
}

let provider: Provider = 'cpu'; // a thread serves one engine, and an engine has one device

/** What the sessions that this thread opens run on; nodes that a GPU's provider lacks run on the CPU. */
export function useProvider(chosen: Provider): void {
  provider = chosen;
}

/** Constants of a graph that lie in files. */
export interface SessionOptions {
  threads?: number; // 1 by default
  /**
   * `mapped`: weights are used where they lie, and what was said to be computed again is. `packed`: the runtime may keep
   * a copy of packed matrices that suits its kernels. `unfolded`: a copy of all, in f32. Absent: no constant is of any
   * size, or it is in `memory`.
   */
  weights?: 'mapped' | 'packed' | 'unfolded';
  /**
   * For graphs of many nodes that run for seconds: nothing is rewritten, which takes as long as a run and would merge
   * what is computed again with what it was to replace, and what a run allocates goes back to the system, not to the
   * session's next run.
   */
  asWritten?: boolean;
  memory?: { location: string; data: Float32Array }; // bytes of external constants that are in no file
}

// what maps files: a folder for their names; no private, reordered copies; no weight unpacked once and for all; no
// recomputation merged with what it was to replace; no product of unpacked weights turned into one of packed ones
const EXTRA = {
  session: { model_external_initializers_file_folder_path: PLAN_ROOT, disable_quant_qdq: '1' },
  optimization: { disable_specified_optimizers: 'ConstantFolding;CommonSubexpressionElimination' },
};

// Graphs of a few milliseconds take turns on the same cores: threads of one that wait for its next run, as they do by
// default, would hold back those of another.
const SHORT_RUNS = { session: { force_spinning_stop: '1' } };

function extraOf(weights: NonNullable<SessionOptions['weights']>) {
  const session = { ...EXTRA.session, disable_prepacking: weights === 'mapped' ? '1' : '0' };
  return weights === 'unfolded' ? { session } : { ...EXTRA, session };
}
const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A compiled graph. Feeds and results are by name. */
export class GraphSession {
  private constructor(
    private readonly session: ort.InferenceSession,
    readonly memory: SessionOptions['memory'], // not to be collected before the session
  ) {}

  /** @throws {GauntletError} ENGINE_FAULT where the runtime refuses the model */
  static async open(
    model: Uint8Array,
    { threads = 1, weights, memory, asWritten = false }: SessionOptions = {},
  ): Promise<GraphSession> {
    try {
      return new GraphSession(
        await ort.InferenceSession.create(model, {
          executionProviders: [provider],
          intraOpNumThreads: threads,
          interOpNumThreads: 1,
          executionMode: 'sequential',
          graphOptimizationLevel: asWritten ? 'disabled' : 'all',
          enableMemPattern: false,
          enableCpuMemArena: !asWritten,
          logSeverityLevel: 3,
          extra: weights ? extraOf(weights) : SHORT_RUNS,
          ...(memory && { externalData: [{ path: memory.location, data: bytesOf(memory.data) }] }),
        }),
        memory,
      );
    } catch (cause) {
      throw new GauntletError('ENGINE_FAULT', `the model graph does not load: ${(cause as Error).message}`, { cause });
    }
  }

  /** @throws {GauntletError} ENGINE_FAULT */
  async run(feeds: Record<string, ort.Tensor>): Promise<Record<string, ort.Tensor>> {
    try {
      return (await this.session.run(feeds)) as Record<string, ort.Tensor>;
    } catch (cause) {
      throw new GauntletError('ENGINE_FAULT', `the model graph failed: ${(cause as Error).message}`, { cause });
    }
  }

  async close(): Promise<void> {
    await this.session.release();
  }
}

/** Wraps an array, without a copy, as a tensor of its own dtype. */
export function tensor(data: TensorArray, dims: readonly number[]): ort.Tensor {
  if (data instanceof Uint8Array) return new ort.Tensor('uint8', data, dims);
  const type = data instanceof Float32Array ? 'float32' : data instanceof BigInt64Array ? 'int64' : 'int32';
  return new ort.Tensor(type, data, dims);
}
