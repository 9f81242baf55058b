// Reads how often a process called the CUDA runtime without a GPU (cudart.c), which `runOnFakeCuda` puts in its library path.
import koffi from 'koffi';

/** Numbers of calls of the runtime. A synchronous copy from or to the host also counts as a wait. */
export interface Calls {
  kernels: number;
  products: number; // the calls of cuBLAS that compute
  copiesToDevice: number;
  bytesToDevice: number;
  copiesToHost: number;
  bytesToHost: number;
  copiesOnDevice: number;
  bytesOnDevice: number;
  memsets: number;
  waits: number;
  allocations: number; // allocations of device memory
  byKernel: Record<string, number>; // keyed by the name that the compiler gave the kernel
}

export interface Counts {
  direct: Calls;
  /** Calls while a graph is recorded. A replay repeats them: it reads host memory again, even if that has been freed. */
  captured: Calls;
  graphs: number; // the number of recorded graphs
  graphLaunches: number;
  memory: number; // the bytes of device memory that are allocated now
  peakMemory: number;
}

const library = koffi.load('libcudart.so.13');
const reset = library.func('void fakeCudaReset()') as () => void;
const report = library.func('const char *fakeCudaReport()') as () => string;

/** Counts one piece of work. Work of other threads counts as well. */
export async function countCuda(work: () => Promise<unknown>): Promise<Counts> {
  reset();
  await work();
  return JSON.parse(report()) as Counts;
}

export const memoryNow = (): number => (JSON.parse(report()) as Counts).memory;

export const launches = ({ kernels, products }: Calls): number => kernels + products;
