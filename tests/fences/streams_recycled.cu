// SPDX-License-Identifier: Apache-2.0
// Each round has a stream of its own, which is destroyed while its kernel may still run; an event
// hands the array on.
#include "hold.h"

__global__ void advance(unsigned* a, unsigned k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * 1103515245u + k;
}

int main() {
  const int n = 1 << 13;
  unsigned *a, *h;
  CHECK(cudaMalloc(&a, n * sizeof(unsigned)));
  CHECK(cudaMallocHost(&h, n * sizeof(unsigned)));
  CHECK(cudaMemset(a, 1, n * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  cudaEvent_t advanced;
  CHECK(cudaEventCreateWithFlags(&advanced, cudaEventDisableTiming));
  for (int k = 0; k < 6; k++) {
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamWaitEvent(s, advanced, 0));
    if (k == 2) hold(s);
    advance<<<n / 256, 256, 0, s>>>(a, k, n);
    if (k == 5) CHECK(cudaMemcpyAsync(h, a, n * 4, cudaMemcpyDeviceToHost, s));
    CHECK(cudaEventRecord(advanced, s));
    CHECK(cudaStreamDestroy(s));
  }
  CHECK(cudaEventSynchronize(advanced));
  report(h, n * sizeof(unsigned));
  return 0;
}
