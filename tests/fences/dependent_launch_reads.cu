// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch of a kernel that follows another one.
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

__global__ void secondary(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[n - 1 - i];
}

int main() {
  const int n = 4096;
  int *a, *b, *h = (int*)malloc(n * sizeof(int));
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMemset(a, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  cudaLaunchAttribute attr[1];
  attr[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg = {};
  cfg.gridDim = dim3(n / 256);
  cfg.blockDim = dim3(256);
  cfg.stream = s;
  cfg.attrs = attr;
  cfg.numAttrs = 1;
  void* args[] = {&a, &b, (void*)&n};
  primary<<<n / 256, 256, 0, s>>>(a, n, hold_wanted() ? 20000000ull : 0);
  CHECK(cudaLaunchKernelExC(&cfg, (const void*)secondary, args));
  CHECK(cudaMemcpyAsync(h, b, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, n * sizeof(int));
  CHECK(cudaDeviceSynchronize());
  free(h);
  return 0;
}
