// Sessions whose inputs and outputs are tensors that stay where they are, on the host or on a GPU. What is bound as input and
// as output at once is updated in place. A run blocks its thread, so sessions live in worker threads.
import { bytesOf, type DType, sizeOf } from '../ir/op.js';
import { DATA_TYPE } from '../onnx/schema.js';
import { faultIn } from './faults.js';
import { type Handle, ortApi } from './ortApi.js';
import { isOwned, type Owned, releaseOwned, track } from './owned.js';

export type MemoryKind = 'cpu' | 'cuda';

/** The array that holds the elements of a type. 16-bit floats are bit patterns. */
const ARRAYS = {
  float32: Float32Array,
  uint8: Uint8Array,
  int32: Int32Array,
  int64: BigInt64Array,
  bool: Uint8Array,
  float16: Uint16Array,
  float64: Float64Array,
  bfloat16: Uint16Array,
  uint4: Uint8Array, // a byte holds two
} as const satisfies Record<DType, unknown>;
export type Elements = Float64Array | Float32Array | Uint8Array | Int32Array | BigInt64Array | Uint16Array;

export interface HostTensor {
  type: DType;
  dims: readonly number[];
  data: Elements;
}

const OUTSIDE_OF_HEAP = 4096; // bytes; larger arrays are outside of the heap of V8, so they never move

const memoryInfos = new Map<MemoryKind, Handle>();
function memoryInfo(kind: MemoryKind): Handle {
  const known = memoryInfos.get(kind);
  if (known !== undefined) return known;
  const [name, allocator] = kind === 'cpu' ? ['Cpu', 1] : ['Cuda', 0]; // 1: an arena allocates, 0: the device does
  const made = ortApi().create('CreateMemoryInfo', name as string, allocator as number, 0, 0);
  memoryInfos.set(kind, made);
  return made;
}

/** A tensor at a fixed place in memory. */
export class DeviceTensor {
  private constructor(
    readonly memory: MemoryKind,
    readonly type: DType,
    readonly dims: readonly number[],
    private readonly address: Handle,
    private readonly host: Elements | undefined, // the memory itself, unless it is on a device
    readonly handle: Handle,
    private readonly owned: Owned[],
  ) {}

  /** Memory that is not initialized. */
  static empty(memory: MemoryKind, type: DType, dims: readonly number[]): DeviceTensor {
    const bytes = bytesOf(type, sizeOf(dims));
    const Type = ARRAYS[type];
    const room = Math.max(Type.BYTES_PER_ELEMENT, bytes);
    if (memory === 'cpu') {
      const host = new Type(new ArrayBuffer(room)); // its memory does not move
      const used = host.subarray(0, bytes / Type.BYTES_PER_ELEMENT);
      return DeviceTensor.at(memory, type, dims, ortApi().addressOf(host), used);
    }
    const address = ortApi().cuda().allocate(room);
    return DeviceTensor.at(memory, type, dims, address, undefined, [track('memory', address)]);
  }

  /** A copy of an array. */
  static of(type: DType, data: Elements, dims: readonly number[], memory: MemoryKind = 'cpu'): DeviceTensor {
    const made = DeviceTensor.empty(memory, type, dims);
    made.write(data);
    return made;
  }

  /** An array as it is, on the host. A small one is copied, because it may be in the heap of V8, which moves it. */
  static around(type: DType, data: Elements, dims: readonly number[]): DeviceTensor {
    if (data.byteLength < OUTSIDE_OF_HEAP) return DeviceTensor.of(type, data, dims);
    return DeviceTensor.at('cpu', type, dims, ortApi().addressOf(data), data);
  }

  private static at(
    memory: MemoryKind,
    type: DType,
    dims: readonly number[],
    address: Handle,
    host?: Elements,
    owned: Owned[] = [],
  ): DeviceTensor {
    const bytes = bytesOf(type, sizeOf(dims));
    const shape = BigInt64Array.from(dims, BigInt);
    const handle = ortApi().create(
      'CreateTensorWithDataAsOrtValue',
      ...[memoryInfo(memory), address, bytes, shape, dims.length, DATA_TYPE[type]],
    );
    return new DeviceTensor(memory, type, dims, address, host, handle, [track('value', handle), ...owned]);
  }

  get size(): number {
    return sizeOf(this.dims);
  }
  get bytes(): number {
    return bytesOf(this.type, this.size);
  }

  /** Copies elements from the host. @throws RangeError if their number or their type is wrong */
  write(data: Elements): void {
    const Type = ARRAYS[this.type];
    if (!(data instanceof Type) || data.byteLength !== this.bytes)
      throw new RangeError(
        `${this.size} elements of ${this.type} are needed, got ${data.length} of ${data.constructor.name}`,
      );
    if (this.host) (this.host as Float32Array).set(data as Float32Array);
    else ortApi().cuda().upload(this.address, data);
  }

  /** Copies the elements to the host. */
  read(): Elements {
    if (this.host) return this.host.slice();
    const Type = ARRAYS[this.type];
    const data = new Type(this.bytes / Type.BYTES_PER_ELEMENT);
    ortApi().cuda().download(data, this.address);
    return data;
  }

  /** A view of elements along the first axis. Dispose of it before the tensor. */
  rows(first: number, count: number): DeviceTensor {
    const [rows = 0, ...rest] = this.dims;
    if (first < 0 || count < 0 || first + count > rows)
      throw new RangeError(`rows ${first}..${first + count} are not within the ${rows} rows of the tensor`);
    const width = sizeOf(rest);
    const address = this.address + BigInt(bytesOf(this.type, first * width));
    const host = this.host?.subarray(first * width, (first + count) * width);
    return DeviceTensor.at(this.memory, this.type, [count, ...rest], address, host);
  }

  /** The same bytes as another tensor. Dispose of it before the tensor. */
  as(type: DType, dims: readonly number[]): DeviceTensor {
    if (bytesOf(type, sizeOf(dims)) !== this.bytes)
      throw new RangeError(`${this.bytes} bytes are no ${type} [${dims}]`);
    const Type = ARRAYS[type];
    const host =
      this.host && new Type(this.host.buffer as ArrayBuffer, this.host.byteOffset, this.bytes / Type.BYTES_PER_ELEMENT);
    return DeviceTensor.at(this.memory, type, dims, this.address, host);
  }

  dispose(): void {
    for (const each of this.owned.splice(0)) releaseOwned(each);
  }
}

export interface DeviceSessionOptions {
  memory: MemoryKind; // the memory of the provider that computes
  threads?: number; // CPU threads; default 1
  optimizationsDisabled?: boolean; // see SessionOptions in runtime.ts
  config?: Readonly<Record<string, string>>; // entries of the session's configuration
  /** CUDA records the kernels of the first run of a binding and starts them together afterwards. */
  recorded?: boolean;
  externalData?: { location: string; data: Float32Array }; // takes the place of a file that does not exist
  profile?: string; // start of the path of a JSON file with the time of every operation, which is written when the session closes
}

// The arena of a recorded graph takes what it needs instead of the next power of two. Factors of f32 products keep all bits (TF32
// has ten). Attention uses the flash kernel (1), else the memory-efficient one (2), else none (16): cuDNN is never chosen.
const CUDA_OPTIONS = { arena_extend_strategy: 'kSameAsRequested', use_tf32: '0', sdpa_kernel: '19' };

// The arena grows by regions of 256 MiB, 512 MiB and then 1 GiB (strategy 0). If each tensor had a region of its own, tensors for rows
// of another length would fit into none of them, and the arena would hold the memory of both.
const SHARED_ARENA = { arena_extend_strategy: 0, initial_chunk_size_bytes: 2 ** 28 };

// The first one needs cuDNN. The second one makes splits that copy from the host, which a recorded graph must not.
const CUDA_UNUSED = ['BiasSoftmaxFusion', 'GatherSliceToSplitFusion'];
const DISABLED = 'optimization.disable_specified_optimizers';

export class DeviceSession {
  private constructor(
    private readonly handle: Handle,
    private readonly owned: Owned[],
    private readonly recorded: boolean,
    private readonly inArena: boolean,
    readonly externalData: DeviceSessionOptions['externalData'], // must not be collected before the session
  ) {}

  /**
   * @param model the bytes of an ONNX model
   * @throws {GauntletError} ENGINE_FAULT if the runtime refuses it, DEVICE_UNAVAILABLE if something is not installed
   */
  static open(model: Uint8Array, options: DeviceSessionOptions): DeviceSession {
    const { call, create, environment, addressOf } = ortApi();
    const { memory, config = {}, recorded = false, externalData, profile } = options;
    const settings = create('CreateSessionOptions');
    // a recorded graph has its own memory, which no other run may use between its runs
    const inArena = memory === 'cuda' && !recorded;
    try {
      if (inArena) enterArena();
      call('SetIntraOpNumThreads', settings, options.threads ?? 1);
      call('SetSessionLogSeverityLevel', settings, 3);
      call('SetSessionGraphOptimizationLevel', settings, options.optimizationsDisabled ? 0 : 99);
      if (profile !== undefined) call('EnableProfiling', settings, profile);
      call('DisableMemPattern', settings);
      call('DisableCpuMemArena', settings);
      const entries = { ...config };
      if (memory === 'cuda') {
        entries[DISABLED] = [...CUDA_UNUSED, ...(config[DISABLED]?.split(';') ?? [])].join(';');
        if (inArena) entries['session.use_env_allocators'] = '1';
        appendCuda(settings, { ...CUDA_OPTIONS, ...(recorded && { enable_cuda_graph: '1' }) });
      }
      for (const [name, value] of Object.entries(entries)) call('AddSessionConfigEntry', settings, name, value);
      if (externalData) {
        const { location, data } = externalData;
        const addresses = BigUint64Array.of(addressOf(data));
        const lengths = BigUint64Array.of(BigInt(data.byteLength));
        call('AddExternalInitializersFromFilesInMemory', settings, [location], addresses, lengths, 1);
      }
      const handle = create('CreateSessionFromArray', environment, model, model.byteLength, settings);
      return new DeviceSession(handle, [track('session', handle)], recorded, inArena, externalData);
    } catch (error) {
      if (inArena) leaveArena();
      throw faultIn('the model graph does not load', error);
    } finally {
      call('ReleaseSessionOptions', settings);
    }
  }

  /** @throws {GauntletError} ENGINE_FAULT if the graph has no such input or output */
  bind(inputs: Readonly<Record<string, DeviceTensor>>, outputs: Readonly<Record<string, DeviceTensor>>): Binding {
    return new Binding(this.handle, inputs, outputs, this.recorded);
  }

  /**
   * Runs once. The runtime allocates the outputs, so their shapes may depend on the inputs.
   * @returns copies of the outputs on the host
   */
  run(inputs: Readonly<Record<string, DeviceTensor>>, outputs: readonly string[]): Record<string, HostTensor> {
    const binding = this.bind(inputs, {});
    try {
      return binding.runInto(outputs);
    } finally {
      binding.dispose();
    }
  }

  close(): void {
    if (this.owned.length === 0) return;
    for (const each of this.owned.splice(0)) releaseOwned(each);
    if (this.inArena) leaveArena();
  }
}

/** The sessions of this thread that use the arena of the process, and the arena if this thread has made it. */
const shared: { sessions: number; arena: Owned | undefined } = { sessions: 0, arena: undefined };

/**
 * Sessions that record no graph share one arena: with an arena of its own, each open graph would keep the memory of its longest run.
 * Sessions that open afterwards use it, until its owner releases it; open ones keep it until they close.
 */
function enterArena(): void {
  shared.sessions++;
  if (shared.arena || isOwned('arena')) return;
  const { call, create, environment } = ortApi();
  ortApi().cuda(); // loads what the provider is linked to
  const options = Object.keys(SHARED_ARENA);
  const numbers = BigUint64Array.from(Object.values(SHARED_ARENA), BigInt);
  const settings = create('CreateArenaCfgV2', options, numbers, options.length);
  const info = create('CreateMemoryInfo', 'Cuda', 1, 0, 0);
  call('CreateAndRegisterAllocatorV2', environment, CUDA_PROVIDER, info, settings, ['device_id'], ['0'], 1);
  call('ReleaseArenaCfg', settings);
  shared.arena = track('arena', info);
}

function leaveArena(): void {
  if (--shared.sessions > 0 || !shared.arena) return;
  releaseOwned(shared.arena);
  shared.arena = undefined;
}
const CUDA_PROVIDER = 'CUDAExecutionProvider';

function appendCuda(settings: Handle, options: Readonly<Record<string, string>>): void {
  const { call, create } = ortApi();
  ortApi().cuda(); // loads what the provider is linked to
  const cuda = create('CreateCUDAProviderOptions');
  try {
    call('UpdateCUDAProviderOptions', cuda, Object.keys(options), Object.values(options), Object.keys(options).length);
    call('SessionOptionsAppendExecutionProvider_CUDA_V2', settings, cuda);
  } finally {
    call('ReleaseCUDAProviderOptions', cuda);
  }
}

let recordings = 0; // counted in this thread

/** Inputs and outputs that stay bound from run to run. Dispose of it before its tensors and its session. */
export class Binding {
  private readonly handle: Handle;
  private readonly options: Handle;
  private readonly owned: Owned[];

  constructor(
    private readonly session: Handle,
    inputs: Readonly<Record<string, DeviceTensor>>,
    outputs: Readonly<Record<string, DeviceTensor>>,
    recorded: boolean,
  ) {
    const { call, create } = ortApi();
    this.handle = create('CreateIoBinding', session);
    this.options = create('CreateRunOptions');
    this.owned = [track('binding', this.handle), track('runOptions', this.options)];
    try {
      if (recorded) call('AddRunConfigEntry', this.options, 'gpu_graph_id', String(++recordings));
      for (const [name, { handle }] of Object.entries(inputs)) call('BindInput', this.handle, name, handle);
      for (const [name, { handle }] of Object.entries(outputs)) call('BindOutput', this.handle, name, handle);
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  /** Runs with outputs that the runtime allocates on the host. @returns copies of them */
  runInto(outputs: readonly string[]): Record<string, HostTensor> {
    const { call, create, memoryAt } = ortApi();
    for (const name of outputs) call('BindOutputToDevice', this.handle, name, memoryInfo('cpu'));
    this.run();
    const allocator = create('GetAllocatorWithDefaultOptions');
    const count = new BigUint64Array(1);
    const list = new BigUint64Array(1);
    call('GetBoundOutputValues', this.handle, allocator, list, count);
    const values = [...new BigUint64Array(memoryAt(list[0]!, 8 * Number(count[0])))];
    call('AllocatorFree', allocator, list[0]!);
    try {
      return Object.fromEntries(outputs.map((name, i) => [name, copyOf(values[i]!)]));
    } finally {
      for (const value of values) call('ReleaseValue', value);
    }
  }

  /** @throws {GauntletError} with the code of faults.ts */
  run(): void {
    try {
      ortApi().call('RunWithBinding', this.session, this.options, this.handle);
    } catch (cause) {
      throw faultIn('the model graph failed', cause);
    }
  }

  dispose(): void {
    for (const each of this.owned.splice(0)) releaseOwned(each);
  }
}

/** A copy of a tensor on the host. */
function copyOf(value: Handle): HostTensor {
  const { call, create, memoryAt } = ortApi();
  const info = create('GetTensorTypeAndShape', value);
  const number = new Int32Array(1);
  call('GetTensorElementType', info, number);
  const shape = new BigInt64Array(Number(create('GetDimensionsCount', info)));
  if (shape.length > 0) call('GetDimensions', info, shape, shape.length);
  call('ReleaseTensorTypeAndShapeInfo', info);
  const type = (Object.keys(DATA_TYPE) as DType[]).find((each) => DATA_TYPE[each] === number[0])!;
  const dims = [...shape].map(Number);
  const Type = ARRAYS[type];
  const size = sizeOf(dims);
  if (size === 0) return { type, dims, data: new Type(0) };
  const memory = memoryAt(create('GetTensorMutableData', value), size * Type.BYTES_PER_ELEMENT);
  return { type, dims, data: new Type(memory).slice() };
}
