// SPDX-License-Identifier: Apache-2.0
// A kernel writes into mapped host memory, a copy takes it to another array.
#include "hold.h"

__global__ void collatz(unsigned* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = i + 1;
  unsigned k = 0;
  while (v != 1 && k < 1000) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    k++;
  }
  steps[i] = k;
}

int main() {
  const int n = 8192;
  const size_t bytes = n * sizeof(unsigned);
  unsigned *host, *mapped, *dev, *back;
  CHECK(cudaHostAlloc(&host, bytes, cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer((void**)&mapped, host, 0));
  memset(host, 0, bytes);
  CHECK(cudaMalloc(&dev, bytes));
  CHECK(cudaMallocHost(&back, bytes));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  collatz<<<n / 128, 128, 0, s>>>(mapped, n);
  CHECK(cudaMemcpyAsync(dev, host, bytes, cudaMemcpyHostToDevice, t));
  CHECK(cudaMemcpyAsync(back, dev, bytes, cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  report(back, bytes);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
