// A CUDA runtime without a GPU. It has the functions that the CUDA provider of ONNX Runtime imports. Device memory is host
// memory, copies copy, and kernels do nothing: the runtime only counts the calls. The headers are NVIDIA's, so that the
// compiler checks each signature. CONTRIBUTING.md says what the counts are for.
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DEVICE_MEMORY (80ULL << 30)

// ---- counts

// Calls while a graph is recorded are counted separately, because a replay repeats them without calling these functions.
enum { DIRECT, CAPTURED };
static int phase = DIRECT;

#define CALLS(F)                                                                                                        \
  F(kernels) F(products) F(copiesToDevice) F(bytesToDevice) F(copiesToHost) F(bytesToHost) F(copiesOnDevice)           \
  F(bytesOnDevice) F(memsets) F(waits) F(allocations)

#define DECLARE(name) long name;
static struct { CALLS(DECLARE) } calls[2];
static long graphs, graphLaunches;
static unsigned long long memory, peakMemory; // allocated now, and the largest value since the last reset

#define ADD(name, n) __atomic_add_fetch(&calls[phase].name, n, __ATOMIC_RELAXED)

/** cuBLAS is a separate library. It reports its matrix products here. */
void fakeCudaProduct(void) { ADD(products, 1); }

// A hash table with open addressing finds kernels by the address of their function on the host.
#define KERNELS 65536
static struct { const void *host; const char *name; long count[2]; } kernels[KERNELS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned slotOf(const void *host) {
  unsigned slot = ((uintptr_t)host >> 3) * 2654435761u % KERNELS;
  while (kernels[slot].host && kernels[slot].host != host) slot = (slot + 1) % KERNELS;
  return slot;
}

void fakeCudaReset(void) {
  memset(calls, 0, sizeof calls);
  graphs = graphLaunches = 0;
  peakMemory = memory;
  for (int i = 0; i < KERNELS; i++) kernels[i].count[DIRECT] = kernels[i].count[CAPTURED] = 0;
}

/** All counts as JSON. The text is valid until the next call. */
const char *fakeCudaReport(void) {
  static char *text;
  size_t size;
  free(text);
  FILE *out = open_memstream(&text, &size);
  for (int p = DIRECT; p <= CAPTURED; p++) {
    fprintf(out, p == DIRECT ? "{\"direct\":{" : "},\"captured\":{");
#define PRINT(name) fprintf(out, "\"%s\":%ld,", #name, calls[p].name);
    CALLS(PRINT)
    fprintf(out, "\"byKernel\":{");
    const char *comma = "";
    for (int i = 0; i < KERNELS; i++) {
      if (!kernels[i].count[p]) continue;
      fprintf(out, "%s\"%s\":%ld", comma, kernels[i].name, kernels[i].count[p]);
      comma = ",";
    }
    fprintf(out, "}");
  }
  fprintf(out, "},\"graphs\":%ld,\"graphLaunches\":%ld,\"memory\":%llu,\"peakMemory\":%llu}", graphs, graphLaunches,
          memory, peakMemory);
  fclose(out);
  return text;
}

// ---- kernels: the compiled provider registers them when it is loaded

void **__cudaRegisterFatBinary(void *binary) { static void *handle; return &handle; }
void __cudaRegisterFatBinaryEnd(void **handle) {}
void __cudaUnregisterFatBinary(void **handle) {}
void __cudaRegisterVar(void **h, char *host, char *device, const char *name, int ext, size_t size, int constant, int global) {}
void __cudaRegisterFunction(void **h, const char *host, char *device, const char *name, int limit, void *tid, void *bid,
                            void *block, void *grid, int *warp) {
  pthread_mutex_lock(&lock);
  unsigned slot = slotOf(host);
  kernels[slot].host = host;
  kernels[slot].name = name;
  pthread_mutex_unlock(&lock);
}

static __thread struct { dim3 grid, block; size_t shared; void *stream; } launch;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
  launch.grid = grid, launch.block = block, launch.shared = shared, launch.stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream) {
  *grid = launch.grid, *block = launch.block, *shared = launch.shared, *stream = launch.stream;
  return cudaSuccess;
}

static cudaError_t run(const void *kernel) {
  ADD(kernels, 1);
  unsigned slot = slotOf(kernel);
  if (kernels[slot].host) __atomic_add_fetch(&kernels[slot].count[phase], 1, __ATOMIC_RELAXED);
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(void **kernel, const void *host) { *kernel = (void *)host; return cudaSuccess; }
cudaError_t __cudaLaunchKernel(void *kernel, dim3 g, dim3 b, void **args, size_t shared, void *stream) { return run(kernel); }
cudaError_t cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **args, size_t shared, cudaStream_t s) { return run(f); }
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *f, void **args) { return run(f); }
cudaError_t cudaLaunchCooperativeKernel(const void *f, dim3 g, dim3 b, void **args, size_t n, cudaStream_t s) { return run(f); }
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void *data) { f(data); return cudaSuccess; }

// ---- memory: untouched pages take no memory of the machine, so a test may allocate as much as a GPU has

static struct { char *start; size_t size; } blocks[8192];
static int blockCount;

/** The index of the block that contains an address; −1 for host memory. The caller holds the lock. */
static int blockOf(const void *address) {
  for (int i = blockCount - 1; i >= 0; i--)
    if ((const char *)address >= blocks[i].start && (const char *)address < blocks[i].start + blocks[i].size) return i;
  return -1;
}
static int isOnDevice(const void *address) {
  pthread_mutex_lock(&lock);
  int found = blockOf(address) >= 0;
  pthread_mutex_unlock(&lock);
  return found;
}

cudaError_t cudaMalloc(void **start, size_t size) {
  ADD(allocations, 1);
  size = size ? size : 1;
  cudaError_t status = cudaErrorMemoryAllocation;
  pthread_mutex_lock(&lock);
  if (memory + size <= DEVICE_MEMORY && blockCount < sizeof blocks / sizeof *blocks) {
    *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*start != MAP_FAILED) {
      blocks[blockCount].start = *start;
      blocks[blockCount++].size = size;
      memory += size;
      if (memory > peakMemory) peakMemory = memory;
      status = cudaSuccess;
    }
  }
  pthread_mutex_unlock(&lock);
  return status;
}
cudaError_t cudaFree(void *start) {
  if (!start) return cudaSuccess;
  pthread_mutex_lock(&lock);
  int i = blockOf(start);
  int isStart = i >= 0 && blocks[i].start == start;
  if (isStart) {
    munmap(start, blocks[i].size);
    memory -= blocks[i].size;
    blocks[i] = blocks[--blockCount];
  }
  pthread_mutex_unlock(&lock);
  return isStart ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaFreeAsync(void *start, cudaStream_t s) { return cudaFree(start); }
cudaError_t cudaMallocFromPoolAsync(void **p, size_t n, cudaMemPool_t pool, cudaStream_t s) { return cudaMalloc(p, n); }
cudaError_t cudaMallocHost(void **p, size_t n) { return (*p = malloc(n ? n : 1)) ? cudaSuccess : cudaErrorMemoryAllocation; }
cudaError_t cudaHostAlloc(void **p, size_t n, unsigned flags) { return cudaMallocHost(p, n); }
cudaError_t cudaFreeHost(void *p) { free(p); return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  *total = DEVICE_MEMORY;
  *free = DEVICE_MEMORY - memory;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *address) {
  memset(a, 0, sizeof *a);
  int device = isOnDevice(address);
  a->type = device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  a->devicePointer = device ? (void *)address : NULL;
  a->hostPointer = device ? NULL : (void *)address;
  return cudaSuccess;
}

// No kernel wrote the results that the host reads, so they hold whatever was copied to this memory before, such as token numbers.
// Read as floats, some are not finite, and training would refuse such a gradient.
static void clearNotFinite(uint32_t *words, size_t count) {
  const uint32_t exponent = 0x7f800000;
  for (size_t i = 0; i < count; i++)
    if ((words[i] & exponent) == exponent) words[i] = 0;
}

static cudaError_t copy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault)
    kind = isOnDevice(from) ? (isOnDevice(to) ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost)
                            : (isOnDevice(to) ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost);
  if (kind == cudaMemcpyHostToDevice) ADD(copiesToDevice, 1), ADD(bytesToDevice, size);
  if (kind == cudaMemcpyDeviceToHost) ADD(copiesToHost, 1), ADD(bytesToHost, size);
  if (kind == cudaMemcpyDeviceToDevice) ADD(copiesOnDevice, 1), ADD(bytesOnDevice, size);
  // Skips large copies of what a kernel would have computed, because they would only make untouched pages real.
  if (kind != cudaMemcpyDeviceToDevice || size < 1 << 20) memmove(to, from, size);
  if (kind == cudaMemcpyDeviceToHost) clearNotFinite(to, size / sizeof(uint32_t));
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
  ADD(waits, 1);
  return copy(to, from, size, kind);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t s) {
  return copy(to, from, size, kind);
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t s) {
  ADD(copiesOnDevice, 1), ADD(bytesOnDevice, width * height);
  return cudaSuccess;
}
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind) {
  ADD(copiesToHost, 1), ADD(bytesToHost, size), ADD(waits, 1);
  memset(to, 0, size);
  return cudaSuccess;
}
static cudaError_t fill(void *start, int value, size_t size) {
  ADD(memsets, 1);
  if (size < 1 << 20) memset(start, value, size);
  return cudaSuccess;
}
cudaError_t cudaMemset(void *start, int value, size_t size) { return fill(start, value, size); }
cudaError_t cudaMemsetAsync(void *start, int value, size_t size, cudaStream_t s) { return fill(start, value, size); }

// ---- waits, streams, events: every call is done when it returns

static cudaError_t wait(void) { ADD(waits, 1); return cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return wait(); }
cudaError_t cudaStreamSynchronize(cudaStream_t s) { return wait(); }
cudaError_t cudaEventSynchronize(cudaEvent_t e) { return wait(); }

static cudaError_t make(void **handle) { return (*handle = malloc(8)) ? cudaSuccess : cudaErrorMemoryAllocation; }
static cudaError_t drop(void *handle) { free(handle); return cudaSuccess; }
cudaError_t cudaStreamCreate(cudaStream_t *s) { return make((void **)s); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) { return make((void **)s); }
cudaError_t cudaStreamDestroy(cudaStream_t s) { return drop(s); }
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t *e) { return make((void **)e); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags) { return make((void **)e); }
cudaError_t cudaEventDestroy(cudaEvent_t e) { return drop(e); }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b) { *ms = 1; return cudaSuccess; }
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *p) { return make((void **)pool); }
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) { return drop(pool); }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t n) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr a, void *value) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr a, void *value) {
  *(uint64_t *)value = 0;
  return cudaSuccess;
}

// ---- recorded graphs

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode) { phase = CAPTURED; return cudaSuccess; }
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph) {
  phase = DIRECT;
  graphs++;
  return make((void **)graph);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status) {
  *status = phase == CAPTURED ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x, cudaGraph_t g, unsigned long long flags) { return make((void **)x); }
cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s) { graphLaunches++; return cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t g) { return drop(g); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x) { return drop(x); }

// ---- the device: sizes of an H100

cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidValue; }
cudaError_t cudaDriverGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
  *p = (struct cudaDeviceProp){
      .name = "no GPU", .totalGlobalMem = DEVICE_MEMORY, .major = 9, .minor = 0, .multiProcessorCount = 132,
      .warpSize = 32, .maxThreadsPerBlock = 1024, .maxThreadsDim = {1024, 1024, 64},
      .maxGridSize = {2147483647, 65535, 65535}, .maxThreadsPerMultiProcessor = 2048, .maxBlocksPerMultiProcessor = 32,
      .regsPerBlock = 65536, .regsPerMultiprocessor = 65536, .sharedMemPerBlock = 49152,
      .sharedMemPerBlockOptin = 232448, .sharedMemPerMultiprocessor = 233472, .reservedSharedMemPerBlock = 1024,
      .totalConstMem = 65536, .l2CacheSize = 50 << 20, .memoryPoolsSupported = 1, .unifiedAddressing = 1,
      .cooperativeLaunch = 1, .concurrentKernels = 1};
  return cudaSuccess;
}
/** Our graphs need no other attributes. Add an attribute here if a graph needs it. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = 9; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; return cudaSuccess;
    case cudaDevAttrMultiProcessorCount: *value = 132; return cudaSuccess;
    default: return cudaErrorNotSupported;
  }
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *f) {
  *a = (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024, .numRegs = 64, .ptxVersion = 90, .binaryVersion = 90,
                                   .sharedSizeBytes = 1024, .maxDynamicSharedSizeBytes = 232448};
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *f, enum cudaFuncAttribute a, int value) { return cudaSuccess; }
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t k, enum cudaFuncAttribute a, int value, int device) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f, int block, size_t m, unsigned fl) {
  *n = 2;
  return cudaSuccess;
}
cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *j, void **jv, unsigned jn,
                                enum cudaLibraryOption *o, void **ov, unsigned on) {
  return make((void **)library);
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) { return drop(library); }
cudaError_t cudaLibraryGetKernel(cudaKernel_t *k, cudaLibrary_t library, const char *name) { return make((void **)k); }
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **f, unsigned version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found) {
  *f = NULL;
  if (found) *found = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

// ---- errors: only the return values above report errors

cudaError_t cudaGetLastError(void) { return cudaSuccess; }
cudaError_t cudaPeekAtLastError(void) { return cudaSuccess; }
const char *cudaGetErrorName(cudaError_t error) { return cudaGetErrorString(error); }
const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidValue: return "invalid value";
    default: return "the CUDA runtime without a GPU does not have this";
  }
}
