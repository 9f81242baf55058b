// What a process asked of the CUDA runtime without a GPU (cudart.c), which `runOnFakeCuda` puts into its library path.
import koffi from 'koffi';

/** Calls of the runtime. A copy from or to the host that is not asynchronous is also a wait. */
export interface Calls {
  kernels: number;
  products: number; // calls of cuBLAS that compute
  copiesToDevice: number;
  bytesToDevice: number;
  copiesToHost: number;
  bytesToHost: number;
  copiesOnDevice: number;
  bytesOnDevice: number;
  memsets: number;
  waits: number;
  allocations: number; // of memory of the device
  byKernel: Record<string, number>; // by the name that the compiler gave the kernel
}

export interface Counts {
  direct: Calls;
  /** While a graph is recorded. A replay repeats these: a copy from memory of the host reads it again, even after it is freed. */
  captured: Calls;
  graphs: number; // recorded
  graphLaunches: number;
  memory: number; // bytes of the device that are allocated now
  peakMemory: number;
}

const library = koffi.load('libcudart.so.13');
const reset = library.func('void fakeCudaReset()') as () => void;
const report = library.func('const char *fakeCudaReport()') as () => string;

/** The counts of one piece of work. Work of other threads counts as well. */
export async function countCuda(work: () => Promise<unknown>): Promise<Counts> {
  reset();
  await work();
  return JSON.parse(report()) as Counts;
}

export const memoryNow = (): number => (JSON.parse(report()) as Counts).memory;

export const launches = ({ kernels, products }: Calls): number => kernels + products;
