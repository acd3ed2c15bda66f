// SPDX-License-Identifier: Apache-2.0
// A cooperative kernel with a barrier of the whole grid between its sweeps,
// and a copy after it in the same stream.
#include "hold.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void sweeps(int* a, int* b, int n, int rounds) {
  cg::grid_group grid = cg::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int r = 0; r < rounds; r++) {
    if (i < n) b[i] = a[(i + 1) % n] + r;
    grid.sync();
    if (i < n) a[i] = b[(i + n - 1) % n] * 3;
    grid.sync();
  }
}

int main() {
  int n = 2048, rounds = 4;
  int *a, *b, *h = (int*)malloc(n * sizeof(int));
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  for (int i = 0; i < n; i++) h[i] = i;
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaMemcpyAsync(a, h, n * sizeof(int), cudaMemcpyHostToDevice, s));
  hold(s);
  void* args[] = {&a, &b, &n, &rounds};
  CHECK(cudaLaunchCooperativeKernel((void*)sweeps, dim3(n / 256), dim3(256), args, 0, s));
  CHECK(cudaMemcpyAsync(h, a, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, n * sizeof(int));
  free(h);
  return 0;
}
