// SPDX-License-Identifier: Apache-2.0
// An urgent stream of high priority and a lazy one of low priority.
#include "hold.h"

__global__ void urgent_part(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 7 * i + 1;
}

__global__ void lazy_part(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] % 5;
}

int main() {
  const int n = 1 << 14;
  int least, greatest;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t high, low;
  CHECK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
  CHECK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
  int *a, *b, *h = (int*)malloc(n * sizeof(int));
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMemsetAsync(a, 0, n * sizeof(int), low));
  CHECK(cudaStreamSynchronize(low));

  hold(high);
  urgent_part<<<n / 256, 256, 0, high>>>(a, n);
  lazy_part<<<n / 256, 256, 0, low>>>(a, b, n);
  CHECK(cudaMemcpyAsync(h, b, n * sizeof(int), cudaMemcpyDeviceToHost, low));
  CHECK(cudaStreamSynchronize(low));
  report(h, n * sizeof(int));
  CHECK(cudaStreamSynchronize(high));
  return 0;
}
