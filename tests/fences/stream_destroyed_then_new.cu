// SPDX-License-Identifier: Apache-2.0
// A stream is destroyed after its kernel was launched; a new one reads the result.
#include "hold.h"

__global__ void produce(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 11 * i + 5;
}

__global__ void consume(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] & 0xff;
}

int main() {
  const int n = 1 << 13;
  int *a, *b, *h;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  CHECK(cudaMemset(a, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  hold(s);
  produce<<<n / 256, 256, 0, s>>>(a, n);
  CHECK(cudaStreamDestroy(s));
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  consume<<<n / 256, 256, 0, s>>>(a, b, n);
  CHECK(cudaMemcpyAsync(h, b, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, n * sizeof(int));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
