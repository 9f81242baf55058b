// cuBLAS and cublasLt without a GPU, from one source for both libraries. Products compute nothing and are counted in cudart.c.
// Nobody reads the memory of handles and descriptors. The arguments of products are not declared, because nothing uses them.
#include <stdlib.h>
#include <string.h>

void fakeCudaProduct(void);
static int make(void **handle) { return (*handle = malloc(256)) ? 0 : 3; } // 3 is CUBLAS_STATUS_ALLOC_FAILED
static int drop(void *handle) { free(handle); return 0; }

#define PRODUCT(name) int name(void) { fakeCudaProduct(); return 0; }
#define CREATE(name) int name(void **handle) { return make(handle); }
#define DESTROY(name) int name(void *handle) { return drop(handle); }
#define IGNORED(name) int name(void) { return 0; }

#ifndef LT
CREATE(cublasCreate_v2) DESTROY(cublasDestroy_v2) IGNORED(cublasSetStream_v2) IGNORED(cublasSetMathMode)
int cublasGetMathMode(void *handle, int *mode) { *mode = 0; return 0; }
const char *cublasGetStatusName(int status) { return "CUBLAS_STATUS"; }
const char *cublasGetStatusString(int status) { return "a status of cuBLAS"; }
int cublasGetProperty(int part, int *value) { *value = part == 0 ? 13 : 0; return 0; }
PRODUCT(cublasDcopy_v2) PRODUCT(cublasDgeam) PRODUCT(cublasDgemmBatched) PRODUCT(cublasDgemmStridedBatched)
PRODUCT(cublasDgemm_v2) PRODUCT(cublasDgetrfBatched) PRODUCT(cublasDgetriBatched) PRODUCT(cublasGemmBatchedEx)
PRODUCT(cublasGemmEx) PRODUCT(cublasGemmStridedBatchedEx) PRODUCT(cublasScopy_v2) PRODUCT(cublasSgeam)
PRODUCT(cublasSgemmBatched) PRODUCT(cublasSgemmStridedBatched) PRODUCT(cublasSgemm_v2) PRODUCT(cublasSgetrfBatched)
PRODUCT(cublasSgetriBatched) PRODUCT(cublasSscal_v2)
#else
CREATE(cublasLtCreate) DESTROY(cublasLtDestroy) PRODUCT(cublasLtMatmul) PRODUCT(cublasLtMatrixTransform)
CREATE(cublasLtMatmulDescCreate) DESTROY(cublasLtMatmulDescDestroy) IGNORED(cublasLtMatmulDescSetAttribute)
CREATE(cublasLtMatmulPreferenceCreate) DESTROY(cublasLtMatmulPreferenceDestroy)
IGNORED(cublasLtMatmulPreferenceSetAttribute) CREATE(cublasLtMatrixLayoutCreate) DESTROY(cublasLtMatrixLayoutDestroy)
IGNORED(cublasLtMatrixLayoutSetAttribute) CREATE(cublasLtMatrixTransformDescCreate)
DESTROY(cublasLtMatrixTransformDescDestroy) IGNORED(cublasLtMatmulAlgoConfigSetAttribute) IGNORED(cublasLtMatmulAlgoInit)

/** Always finds one algorithm. */
int cublasLtMatmulAlgoGetHeuristic(void *h, void *op, void *a, void *b, void *c, void *d, void *preference, int wanted,
                                   char *results, int *found) {
  memset(results, 0, 128);
  *found = 1;
  return 0;
}
#endif
