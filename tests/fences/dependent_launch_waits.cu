// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch: the second kernel starts early and waits for
// the first one before it reads its result.
#include "hold.h"

__device__ void delay(unsigned long long ns) {
  unsigned long long t0, t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  while (t - t0 < ns);
}

__global__ void primary(int* a, int n, unsigned long long ns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cudaTriggerProgrammaticLaunchCompletion();
  if (ns) delay(ns);
  if (i < n) a[i] = i * 3 + 1;
}

__global__ void secondary(const int* a, const int* c, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int add = i < n ? c[i] : 0;
  cudaGridDependencySynchronize();
  if (i < n) b[i] = a[n - 1 - i] + add;
}

int main() {
  const int n = 4096;
  int *a, *b, *c, *h = (int*)malloc(n * sizeof(int));
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMalloc(&c, n * sizeof(int)));
  CHECK(cudaMemset(a, 0, n * sizeof(int)));
  CHECK(cudaMemset(c, 1, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  primary<<<n / 256, 256, 0, s>>>(a, n, hold_wanted() ? 20000000ull : 0);
  cudaLaunchAttribute attr[1];
  attr[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg = {};
  cfg.gridDim = dim3(n / 256);
  cfg.blockDim = dim3(256);
  cfg.stream = s;
  cfg.attrs = attr;
  cfg.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&cfg, secondary, (const int*)a, (const int*)c, b, n));
  CHECK(cudaMemcpyAsync(h, b, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, n * sizeof(int));
  free(h);
  return 0;
}
