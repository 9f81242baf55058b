// A cuDNN that can be opened but has no operation, so a kernel that uses it fails. It announces a version with attention.
#include <stdlib.h>

size_t cudnnGetVersion(void) { return 91900; }
int cudnnCreate(void **handle) { return (*handle = malloc(8)) ? 0 : 1; }
int cudnnDestroy(void *handle) { free(handle); return 0; }
int cudnnSetStream(void *handle, void *stream) { return 0; }
