// ONNX Runtime's C API, called through koffi. It is the library that onnxruntime-node has loaded, so both use one runtime.
// The binding of onnxruntime-node can neither keep tensors on a GPU nor set options of CUDA; the C API can.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as Koffi from 'koffi';
import { env } from 'onnxruntime-node';
import { GauntletError } from '../../core/base/errors.js';
import { hasLibrary, loadCudaLibraries } from './cudaLibraries.js';
import { exclusively } from './exclusive.js';
import { runtimeFault } from './faults.js';
import { providerFolder } from './providers.js';

/** The address of an object of the runtime, or of memory. */
export type Handle = bigint;

type Argument = Handle | number | string | readonly string[] | ArrayBufferView | null;

const HANDLE = 'uint64_t';
const API_VERSION = 20; // the lowest version that has all functions below

/** The index of each function in the struct `OrtApi`, and its argument types. The struct only grows, so no index ever changes. */
const FUNCTIONS = {
  CreateEnv: [3, 'int', 'str', 'void *'],
  CreateSessionFromArray: [8, HANDLE, 'void *', 'size_t', HANDLE, 'void *'],
  CreateSessionOptions: [10, 'void *'],
  EnableProfiling: [14, HANDLE, 'str'],
  DisableMemPattern: [17, HANDLE],
  DisableCpuMemArena: [19, HANDLE],
  SetSessionLogSeverityLevel: [22, HANDLE, 'int'],
  SetSessionGraphOptimizationLevel: [23, HANDLE, 'int'],
  SetIntraOpNumThreads: [24, HANDLE, 'int'],
  CreateRunOptions: [39, 'void *'],
  CreateTensorWithDataAsOrtValue: [49, HANDLE, HANDLE, 'size_t', 'void *', 'size_t', 'int', 'void *'],
  GetTensorMutableData: [51, HANDLE, 'void *'],
  GetTensorElementType: [60, HANDLE, 'void *'],
  GetDimensionsCount: [61, HANDLE, 'void *'],
  GetDimensions: [62, HANDLE, 'void *', 'size_t'],
  GetTensorTypeAndShape: [65, HANDLE, 'void *'],
  CreateMemoryInfo: [68, 'str', 'int', 'int', 'int', 'void *'],
  AllocatorFree: [76, HANDLE, HANDLE],
  GetAllocatorWithDefaultOptions: [78, 'void *'],
  ReleaseStatus: [93, HANDLE],
  ReleaseSession: [95, HANDLE],
  ReleaseValue: [96, HANDLE],
  ReleaseRunOptions: [97, HANDLE],
  ReleaseTensorTypeAndShapeInfo: [99, HANDLE],
  ReleaseSessionOptions: [100, HANDLE],
  AddSessionConfigEntry: [130, HANDLE, 'str', 'str'],
  RunWithBinding: [133, HANDLE, HANDLE, HANDLE],
  CreateIoBinding: [134, HANDLE, 'void *'],
  ReleaseIoBinding: [135, HANDLE],
  BindInput: [136, HANDLE, 'str', HANDLE],
  BindOutput: [137, HANDLE, 'str', HANDLE],
  BindOutputToDevice: [138, HANDLE, 'str', HANDLE],
  GetBoundOutputValues: [140, HANDLE, HANDLE, 'void *', 'void *'],
  ReleaseArenaCfg: [157, HANDLE],
  CreateArenaCfgV2: [164, 'str *', 'void *', 'size_t', 'void *'],
  AddRunConfigEntry: [165, HANDLE, 'str', 'str'],
  UnregisterAllocator: [177, HANDLE, HANDLE],
  SessionOptionsAppendExecutionProvider_CUDA_V2: [204, HANDLE, HANDLE],
  CreateCUDAProviderOptions: [205, 'void *'],
  UpdateCUDAProviderOptions: [206, HANDLE, 'str *', 'str *', 'size_t'],
  ReleaseCUDAProviderOptions: [208, HANDLE],
  CreateAndRegisterAllocatorV2: [259, HANDLE, 'str', HANDLE, HANDLE, 'str *', 'str *', 'size_t'],
  AddExternalInitializersFromFilesInMemory: [279, HANDLE, 'str *', 'void *', 'void *', 'size_t'],
} as const;
const GET_ERROR_MESSAGE = 2;

type FunctionName = keyof typeof FUNCTIONS;

type Cuda = ReturnType<typeof openCuda>;

export interface OrtApi {
  /** @throws {GauntletError} with the code that faults.ts finds for the message of the runtime */
  call(name: FunctionName, ...args: Argument[]): void;
  /** Calls a function whose last argument receives a handle. */
  create(name: FunctionName, ...args: Argument[]): Handle;
  environment: Handle;
  addressOf(memory: ArrayBufferView): Handle;
  /** A view of memory on the host. */
  memoryAt(address: Handle, bytes: number): ArrayBuffer;
  /** @throws {GauntletError} DEVICE_UNAVAILABLE */
  cuda(): Cuda;
}

let opened: OrtApi | undefined;

/** @throws {GauntletError} DEVICE_UNAVAILABLE if koffi is not installed or the library has another version */
export const ortApi = (): OrtApi => (opened ??= open());

const require = createRequire(import.meta.url);

/** @throws {GauntletError} DEVICE_UNAVAILABLE */
export function loadKoffi(load: (name: string) => unknown = require): typeof Koffi {
  try {
    return load('koffi') as typeof Koffi;
  } catch (cause) {
    const message = 'device cuda needs the package koffi: run gauntlet setup cuda, or use cpu';
    throw new GauntletError('DEVICE_UNAVAILABLE', message, { cause });
  }
}

const LIBRARIES: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'libonnxruntime.so.1',
  darwin: 'libonnxruntime.1.dylib',
  win32: 'onnxruntime.dll',
};

function open(): OrtApi {
  const koffi = loadKoffi();
  const library = koffi.load(join(providerFolder(), LIBRARIES[process.platform] ?? 'libonnxruntime.so'));
  const base: { GetApi: unknown; GetVersionString: unknown } = koffi.decode(
    library.func('OrtGetApiBase', 'void *', [])(),
    koffi.struct({ GetApi: 'void *', GetVersionString: 'void *' }),
  );
  const functionAt = (address: unknown, result: string, args: readonly string[]) =>
    koffi.decode(address, koffi.proto(result, [...args])) as (...args: Argument[]) => unknown;
  const version = functionAt(base.GetVersionString, 'str', [])();
  if (version !== env.versions.node)
    throw new GauntletError(
      'DEVICE_UNAVAILABLE',
      `onnxruntime-node is version ${env.versions.node}, but its library is ${version}: run npm ci, or use cpu`,
    );
  const table = functionAt(base.GetApi, 'void *', ['uint32_t'])(API_VERSION);
  const entry = (index: number): unknown => koffi.decode(table, index * 8, 'void *');
  const messageOf = functionAt(entry(GET_ERROR_MESSAGE), 'str', [HANDLE]);

  const functions = new Map<FunctionName, (...args: Argument[]) => unknown>();
  const functionOf = (name: FunctionName): ((...args: Argument[]) => unknown) => {
    const known = functions.get(name);
    if (known) return known;
    const [index, ...args] = FUNCTIONS[name];
    const made = functionAt(entry(index), name.startsWith('Release') ? 'void' : HANDLE, args);
    functions.set(name, made);
    return made;
  };
  const call: OrtApi['call'] = (name, ...args) => {
    const status = BigInt((exclusively(() => functionOf(name)(...args)) as Handle | number | undefined) ?? 0);
    if (status === 0n) return;
    const message = messageOf(status) as string;
    functionOf('ReleaseStatus')(status);
    throw runtimeFault(message);
  };
  const create: OrtApi['create'] = (name, ...args) => {
    const cell = new BigUint64Array(1);
    call(name, ...args, cell);
    return cell[0]!;
  };
  let cuda: Cuda | undefined;
  return {
    call,
    create,
    environment: create('CreateEnv', 3, 'gauntlet'), // the runtime has one for the whole process
    addressOf: (memory) => koffi.address(memory),
    memoryAt: (address, bytes) => koffi.view(address, bytes),
    cuda: () => (cuda ??= openCuda(koffi)),
  };
}

const TO_DEVICE = 1;
const TO_HOST = 2;

/** The CUDA runtime that the provider library is linked to. */
function openCuda(koffi: typeof Koffi) {
  loadCudaLibraries(koffi);
  const missing = 'device cuda needs the CUDA runtime: run gauntlet setup cuda, or use cpu';
  if (!hasLibrary(koffi, 'libcudart.so.13')) throw new GauntletError('DEVICE_UNAVAILABLE', missing);
  const library = koffi.load('libcudart.so.13');
  const describe = library.func('cudaGetErrorString', 'str', ['int']);
  const checked = (name: string, ...types: string[]) => {
    const run = library.func(name, 'int', types);
    return (...args: unknown[]): void => {
      const status = exclusively(() => run(...args) as number);
      if (status !== 0) throw runtimeFault(`${name}: ${describe(status)}`);
    };
  };
  const malloc = checked('cudaMalloc', 'void *', 'size_t');
  const free = checked('cudaFree', HANDLE);
  const upload = checked('cudaMemcpy', HANDLE, 'void *', 'size_t', 'int');
  const download = checked('cudaMemcpy', 'void *', HANDLE, 'size_t', 'int');
  const synchronize = checked('cudaStreamSynchronize', 'void *');
  const memory = checked('cudaMemGetInfo', 'void *', 'void *');
  return {
    allocate(bytes: number): Handle {
      const cell = new BigUint64Array(1);
      malloc(cell, bytes);
      return cell[0]!;
    },
    free: (address: Handle): void => free(address),
    upload(address: Handle, data: ArrayBufferView): void {
      upload(address, data, data.byteLength, TO_DEVICE);
      synchronize(null); // the copy may return before its data have left this memory for the device
    },
    download: (data: ArrayBufferView, address: Handle): void => download(data, address, data.byteLength, TO_HOST),
    /** The number of free bytes. */
    freeMemory(): number {
      const sizes = new BigUint64Array(2);
      memory(sizes, sizes.subarray(1));
      return Number(sizes[0]);
    },
    /** The version decides how products are rounded. */
    cublasVersion(): string {
      const read = koffi.load('libcublas.so.13').func('cublasGetProperty', 'int', ['int', 'void *']);
      const parts = new Int32Array(3);
      for (const part of parts.keys()) read(part, parts.subarray(part));
      return parts.join('.');
    },
  };
}
