// SPDX-License-Identifier: Apache-2.0
// Two streams write parts of a ring of 1000 elements.
#include "hold.h"

__global__ void put(int* ring, int size, int from, int count, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) ring[(from + i) % size] = value + i;
}

int main() {
  const int size = 1000;
  int h[size], *ring;
  CHECK(cudaMalloc(&ring, sizeof h));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  put<<<5, 128, 0, s>>>(ring, size, 900, 550, 10000);
  put<<<4, 128, 0, t>>>(ring, size, 400, 500, 20000);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(h, ring, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
