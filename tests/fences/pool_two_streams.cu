// SPDX-License-Identifier: Apache-2.0
// A pool of our own, two streams with temporaries of the same size: memory goes
// from the one to the other only as the pool allows.
#include "hold.h"

__global__ void seed(unsigned* p, unsigned s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = s * 69069u + i;
}

__global__ void absorb(const unsigned* p, unsigned* acc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) acc[i] = (acc[i] << 1) ^ p[i];
}

int main() {
  const int n = 1 << 13;
  cudaMemPool_t pool;
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = 0;
  CHECK(cudaMemPoolCreate(&pool, &props));
  uint64_t keep = UINT64_MAX;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));

  unsigned* acc[2];
  cudaStream_t st[2];
  for (int k = 0; k < 2; k++) {
    CHECK(cudaMalloc(&acc[k], n * sizeof(unsigned)));
    CHECK(cudaMemset(acc[k], 0, n * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&st[k], cudaStreamNonBlocking));
  }
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 10; i++) {
    int k = i % 2;
    unsigned* t;
    CHECK(cudaMallocFromPoolAsync((void**)&t, n * sizeof(unsigned), pool, st[k]));
    seed<<<n / 256, 256, 0, st[k]>>>(t, i, n);
    if (i == 4) hold(st[k]);
    absorb<<<n / 256, 256, 0, st[k]>>>(t, acc[k], n);
    CHECK(cudaFreeAsync(t, st[k]));
  }
  unsigned* h;
  CHECK(cudaMallocHost(&h, 2 * n * sizeof(unsigned)));
  for (int k = 0; k < 2; k++) {
    CHECK(cudaMemcpyAsync(h + k * n, acc[k], n * 4, cudaMemcpyDeviceToHost, st[k]));
    CHECK(cudaStreamSynchronize(st[k]));
  }
  report(h, 2 * n * sizeof(unsigned));
  CHECK(cudaMemPoolDestroy(pool));
  return 0;
}
