// SPDX-License-Identifier: Apache-2.0
// Temporaries of a pool that is trimmed between rounds; another stream reads them before they are
// freed.
#include "hold.h"

__global__ void fill(unsigned* t, unsigned k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) t[i] = k * 40503u + i;
}

__global__ void mix(const unsigned* t, unsigned* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = sum[i] * 5 + t[i];
}

int main() {
  const int n = 1 << 14;
  unsigned *sum, *h;
  CHECK(cudaMalloc(&sum, n * sizeof(unsigned)));
  CHECK(cudaMallocHost(&h, n * sizeof(unsigned)));
  CHECK(cudaMemset(sum, 0, n * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  cudaStream_t make, use;
  CHECK(cudaStreamCreateWithFlags(&make, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&use, cudaStreamNonBlocking));
  cudaEvent_t made, used;
  CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
  for (int k = 0; k < 6; k++) {
    unsigned* t;
    CHECK(cudaMallocAsync(&t, n * sizeof(unsigned), make));
    fill<<<n / 256, 256, 0, make>>>(t, k, n);
    CHECK(cudaEventRecord(made, make));
    CHECK(cudaStreamWaitEvent(use, made, 0));
    if (k == 2) hold(use);
    mix<<<n / 256, 256, 0, use>>>(t, sum, n);
    CHECK(cudaEventRecord(used, use));
    CHECK(cudaStreamWaitEvent(make, used, 0));
    CHECK(cudaFreeAsync(t, make));
    if (k % 2) {
      CHECK(cudaStreamSynchronize(make));
      CHECK(cudaMemPoolTrimTo(pool, 0));
    }
  }
  CHECK(cudaMemcpyAsync(h, sum, n * sizeof(unsigned), cudaMemcpyDeviceToHost, use));
  CHECK(cudaStreamSynchronize(use));
  report(h, n * sizeof(unsigned));
  return 0;
}
