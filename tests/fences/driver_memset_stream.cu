// SPDX-License-Identifier: Apache-2.0
// The driver API: a memset in one stream, a kernel in another.
#include "hold.h"
#include <cuda.h>

static void cu(CUresult r, int line) {
  if (r != CUDA_SUCCESS) {
    fprintf(stderr, "line %d: error %d\n", line, (int)r);
    exit(2);
  }
}

__global__ void upper_half(unsigned* a, int n) {
  int i = n / 2 + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i;
}

int main() {
  CHECK(cudaFree(0));
  cudaFunction_t f;
  CHECK(cudaGetFuncBySymbol(&f, (const void*)upper_half));
  int n = 1 << 12;
  CUdeviceptr a;
  cu(cuMemAlloc(&a, n * 4), __LINE__);
  CUstream s[2];
  cu(cuStreamCreate(&s[0], CU_STREAM_NON_BLOCKING), __LINE__);
  cu(cuStreamCreate(&s[1], CU_STREAM_NON_BLOCKING), __LINE__);
  CUevent cleared;
  cu(cuEventCreate(&cleared, CU_EVENT_DISABLE_TIMING), __LINE__);
  void* args[] = {&a, &n};

  hold(s[0]);
  CUresult r = cuMemsetD32Async(a, 5, n, s[0]);
  cu(r, __LINE__);
  cu(cuEventRecord(cleared, s[1]), __LINE__);
  cu(cuStreamWaitEvent(s[1], cleared, 0), __LINE__);
  r = cuLaunchKernel((CUfunction)f, n / 256, 1, 1, 256, 1, 1, 0, s[1], args, NULL);
  cu(r, __LINE__);
  cu(cuCtxSynchronize(), __LINE__);
  unsigned* h = (unsigned*)malloc(n * 4);
  cu(cuMemcpyDtoH(h, a, n * 4), __LINE__);
  report(h, n * 4);
  free(h);
  return 0;
}
