// SPDX-License-Identifier: Apache-2.0
// Even warps work in one stream's kernel, odd ones in the other's: a block of
// 32 elements each.
#include "hold.h"

__global__ void even_warps(unsigned* a) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if ((i >> 5) & 1) return;
  a[i] = i * 2654435761u;
}

__global__ void odd_warps(unsigned* a) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (((i / 32) & 1) == 0) return;
  a[i] = ~i;
}

int main() {
  const int n = 1 << 13;
  unsigned *a, *h = (unsigned*)malloc(n * sizeof(unsigned));
  CHECK(cudaMalloc(&a, n * sizeof(unsigned)));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  even_warps<<<n / 256, 256, 0, s>>>(a);
  odd_warps<<<n / 256, 256, 0, t>>>(a);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(h, a, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
  report(h, n * sizeof(unsigned));
  free(h);
  return 0;
}
