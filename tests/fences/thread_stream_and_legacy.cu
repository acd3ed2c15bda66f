// SPDX-License-Identifier: Apache-2.0
// The per-thread default stream and the legacy stream wait for one another.
#include "hold.h"

__global__ void first(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = n - i;
}

__global__ void second(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * a[i];
}

__global__ void third(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[(i + 1) % n] - a[i];
}

int main() {
  const int n = 4096;
  int *a, *b, h[n];
  CHECK(cudaMalloc(&a, sizeof h));
  CHECK(cudaMalloc(&b, sizeof h));
  hold(cudaStreamPerThread);
  first<<<n / 128, 128, 0, cudaStreamPerThread>>>(a, n);
  second<<<n / 128, 128, 0, cudaStreamLegacy>>>(a, n);
  third<<<n / 128, 128, 0, cudaStreamPerThread>>>(a, b, n);
  CHECK(cudaMemcpyAsync(h, b, sizeof h, cudaMemcpyDeviceToHost, cudaStreamPerThread));
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  report(h, sizeof h);
  return 0;
}
