// SPDX-License-Identifier: Apache-2.0
// A stream is destroyed after its kernel was launched; another one, made before that (the device
// may give a later one the same queue), reads the result.
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
  cudaStream_t s, next;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&next, cudaStreamNonBlocking));
  hold(s);
  produce<<<n / 256, 256, 0, s>>>(a, n);
  CHECK(cudaStreamDestroy(s));
  consume<<<n / 256, 256, 0, next>>>(a, b, n);
  CHECK(cudaMemcpyAsync(h, b, n * sizeof(int), cudaMemcpyDeviceToHost, next));
  CHECK(cudaStreamSynchronize(next));
  report(h, n * sizeof(int));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
