// SPDX-License-Identifier: Apache-2.0
// Three steps on one buffer in a stream of its own; the one in the middle names no stream.
#include "hold.h"

__global__ void ramp(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i % 1000;
}

__global__ void times(int* a, int factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= factor;
}

int main() {
  const int n = 30000, blocks = (n + 255) / 256;
  int *a, *h;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  CHECK(cudaMemset(a, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());

  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  hold(s);
  ramp<<<blocks, 256, 0, s>>>(a, n);
  times<<<blocks, 256>>>(a, 3, n);
  CHECK(cudaStreamSynchronize(cudaStreamLegacy));
  CHECK(cudaMemcpyAsync(h, a, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, n * sizeof(int));
  return 0;
}
