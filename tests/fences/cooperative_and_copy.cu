// SPDX-License-Identifier: Apache-2.0
// A cooperative kernel that sums an array, and the copy of the sums.
#include "hold.h"
#include <cooperative_groups.h>

__global__ void block_sums(const int* a, int* sums, int n) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  __shared__ int s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) atomicAdd(&s, a[i]);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = s;
  grid.sync();
  if (grid.thread_rank() == 0) {
    int all = 0;
    for (unsigned b = 0; b < gridDim.x; b++) all += sums[b];
    sums[gridDim.x] = all;
  }
}

int main() {
  int n = 10000, blocks = 8;
  int *a, *sums, *h;
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  for (int i = 0; i < n; i++) h[i] = i;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&sums, (blocks + 1) * sizeof(int)));
  CHECK(cudaMemcpy(a, h, n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(sums, 0, (blocks + 1) * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, out;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
  void* args[] = {&a, &sums, &n};
  hold(s);
  CHECK(cudaLaunchCooperativeKernel((void*)block_sums, blocks, 128, args, 0, s));
  CHECK(cudaMemcpyAsync(h, sums, (blocks + 1) * 4, cudaMemcpyDeviceToHost, out));
  CHECK(cudaStreamSynchronize(out));
  report(h, (blocks + 1) * sizeof(int));
  CHECK(cudaStreamSynchronize(s));
  return 0;
}
