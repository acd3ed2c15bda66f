// SPDX-License-Identifier: Apache-2.0
// Two streams run cooperative kernels, which keep their partial sums in an array.
#include "hold.h"
#include <cooperative_groups.h>

__global__ void total(const int* a, int* parts, int* result, int n) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  if (threadIdx.x == 0) parts[blockIdx.x] = 0;
  __syncthreads();
  int sum = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += a[i];
  atomicAdd(&parts[blockIdx.x], sum);
  grid.sync();
  if (grid.thread_rank() == 0) {
    int all = 0;
    for (unsigned b = 0; b < gridDim.x; b++) all += parts[b];
    *result = all;
  }
}

int main() {
  int n = 20000, blocks = 8;
  int *a[2], *parts, *result[2], *h;
  cudaStream_t s[2];
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  CHECK(cudaMalloc(&parts, blocks * sizeof(int)));
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < n; i++) h[i] = i % (7 + k);
    CHECK(cudaMalloc(&a[k], n * sizeof(int)));
    CHECK(cudaMalloc(&result[k], sizeof(int)));
    CHECK(cudaMemcpy(a[k], h, n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
  }
  CHECK(cudaDeviceSynchronize());
  hold(s[0]);
  for (int k = 0; k < 2; k++) {
    void* args[] = {&a[k], &parts, &result[k], &n};
    CHECK(cudaLaunchCooperativeKernel((void*)total, blocks, 128, args, 0, s[k]));
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h, parts, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  report(h, blocks * sizeof(int));
  return 0;
}
