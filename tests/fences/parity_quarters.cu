// SPDX-License-Identifier: Apache-2.0
// Two kernels in two streams write elements of one array, chosen by conditions.
#include "hold.h"

__global__ void every_second(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i % 2 == 0) a[i] = 3 * i + 1;
}

__global__ void every_fourth(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i % 4 == 0) a[i] = -i - 1;
}

int main() {
  const int n = 8192;
  int *a, *h = (int*)malloc(n * sizeof(int));
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMemset(a, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  every_second<<<n / 256, 256, 0, s>>>(a, n);
  every_fourth<<<n / 256, 256, 0, t>>>(a, n);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(h, a, n * sizeof(int), cudaMemcpyDeviceToHost));
  report(h, n * sizeof(int));
  free(h);
  return 0;
}
