// SPDX-License-Identifier: Apache-2.0
// Two contexts of one device hand data over through portable pinned memory.
#include "hold.h"
#include <cuda.h>

#define DRIVER(call) \
  do { \
    CUresult result_ = (call); \
    if (result_ != CUDA_SUCCESS) { \
      fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, (int)result_); \
      exit(2); \
    } \
  } while (0)

int main() {
  const size_t n = 1 << 14, bytes = n * 4;
  CUdevice device;
  CUcontext first, second;
  CUstream out, in;
  CUdeviceptr a, b;
  unsigned *relay, *h;
  DRIVER(cuInit(0));
  DRIVER(cuDeviceGet(&device, 0));
  DRIVER(cuCtxCreate(&second, NULL, 0, device));
  DRIVER(cuMemAlloc(&b, bytes));
  DRIVER(cuStreamCreate(&in, CU_STREAM_NON_BLOCKING));
  DRIVER(cuCtxCreate(&first, NULL, 0, device));
  DRIVER(cuMemAlloc(&a, bytes));
  DRIVER(cuStreamCreate(&out, CU_STREAM_NON_BLOCKING));
  DRIVER(cuMemHostAlloc((void**)&relay, bytes, CU_MEMHOSTALLOC_PORTABLE));
  DRIVER(cuMemHostAlloc((void**)&h, bytes, CU_MEMHOSTALLOC_PORTABLE));
  memset(relay, 0, bytes);
  DRIVER(cuMemsetD32Async(a, 0x1234567, n, out));
  CHECK(cudaGetLastError());
  hold((cudaStream_t)out);
  DRIVER(cuMemcpyDtoHAsync(relay, a, bytes, out));
  DRIVER(cuCtxSetCurrent(second));
  DRIVER(cuMemcpyHtoDAsync(b, relay, bytes, in));
  DRIVER(cuMemcpyDtoHAsync(h, b, bytes, in));
  DRIVER(cuStreamSynchronize(in));
  report(h, bytes);
  DRIVER(cuCtxSetCurrent(first));
  DRIVER(cuStreamSynchronize(out));
  return 0;
}
