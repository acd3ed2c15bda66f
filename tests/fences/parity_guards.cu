// SPDX-License-Identifier: Apache-2.0
// Two kernels in two streams write one array: the threads of even and of odd
// number, chosen by a condition.
#include "hold.h"

__global__ void evens(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i % 2 == 0) a[i] = 3 * i;
}

__global__ void odds(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (i & 1)) a[i] = -i;
}

int main() {
  const int n = 10000, blocks = (n + 255) / 256;
  int *a, *h = (int*)malloc(n * sizeof(int));
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMemset(a, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  evens<<<blocks, 256, 0, s>>>(a, n);
  odds<<<blocks, 256, 0, t>>>(a, n);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(h, a, n * sizeof(int), cudaMemcpyDeviceToHost));
  report(h, n * sizeof(int));
  free(h);
  return 0;
}
