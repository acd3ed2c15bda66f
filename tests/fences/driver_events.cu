// SPDX-License-Identifier: Apache-2.0
// The driver API: memset, kernel and copy in three streams, in order by events.
#include "hold.h"
#include <cuda.h>

#define CU(call)                                                       \
  do {                                                                 \
    CUresult r_ = (call);                                              \
    if (r_ != CUDA_SUCCESS) {                                          \
      fprintf(stderr, "%s:%d: %d\n", __FILE__, __LINE__, (int)r_);     \
      exit(2);                                                         \
    }                                                                  \
  } while (0)

__global__ void ramp(unsigned* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += i;
}

int main() {
  CHECK(cudaSetDevice(0));
  CHECK(cudaFree(0));
  cudaFunction_t f;
  CHECK(cudaGetFuncBySymbol(&f, (const void*)ramp));
  int n = 1 << 13;
  CUdeviceptr a;
  unsigned* h;
  CU(cuMemAlloc(&a, n * sizeof(unsigned)));
  CU(cuMemAllocHost((void**)&h, n * sizeof(unsigned)));
  CUstream s[3];
  CUevent e[2];
  for (CUstream& x : s) CU(cuStreamCreate(&x, CU_STREAM_NON_BLOCKING));
  for (CUevent& x : e) CU(cuEventCreate(&x, CU_EVENT_DISABLE_TIMING));

  hold(s[0]);
  CU(cuMemsetD32Async(a, 77, n, s[0]));
  CU(cuEventRecord(e[0], s[0]));
  CU(cuStreamWaitEvent(s[1], e[0], 0));
  void* args[] = {&a, &n};
  CU(cuLaunchKernel((CUfunction)f, n / 256, 1, 1, 256, 1, 1, 0, s[1], args, NULL));
  CU(cuEventRecord(e[1], s[1]));
  CU(cuStreamWaitEvent(s[2], e[1], 0));
  CU(cuMemcpyDtoHAsync(h, a, n * sizeof(unsigned), s[2]));
  CU(cuStreamSynchronize(s[2]));
  report(h, n * sizeof(unsigned));
  CU(cuMemFree(a));
  return 0;
}
