// SPDX-License-Identifier: Apache-2.0
// A temporary of the pool is copied to the host in a second stream; its memory is used again.
#include "hold.h"

__global__ void fill(int* t, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) t[i] = k + i;
}

int main() {
  const int n = 1 << 14;
  int *first, *second, *h;
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  cudaStream_t work, out;
  CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
  cudaEvent_t filled;
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CHECK(cudaMallocAsync(&first, n * sizeof(int), work));
  fill<<<n / 256, 256, 0, work>>>(first, 1, n);
  CHECK(cudaEventRecord(filled, work));
  CHECK(cudaStreamWaitEvent(out, filled, 0));
  hold(out);
  CHECK(cudaMemcpyAsync(h, first, n * sizeof(int), cudaMemcpyDeviceToHost, out));
  CHECK(cudaFreeAsync(first, work));
  CHECK(cudaMallocAsync(&second, n * sizeof(int), work));
  fill<<<n / 256, 256, 0, work>>>(second, 1000000, n);
  CHECK(cudaFreeAsync(second, work));
  CHECK(cudaStreamSynchronize(out));
  report(h, n * sizeof(int));
  CHECK(cudaStreamSynchronize(work));
  CHECK(cudaMemPoolTrimTo(pool, 0));
  return 0;
}
