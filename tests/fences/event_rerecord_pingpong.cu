// SPDX-License-Identifier: Apache-2.0
// Two streams take turns on one array: each records its event again after its kernel, and the other
// one waits for it.
#include "hold.h"

__global__ void even_step(unsigned* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * 3 + 1;
}

__global__ void odd_step(unsigned* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] ^= a[i] >> 2;
}

int main() {
  const int n = 1 << 13;
  unsigned *a, *h;
  CHECK(cudaMalloc(&a, n * sizeof(unsigned)));
  CHECK(cudaMallocHost(&h, n * sizeof(unsigned)));
  CHECK(cudaMemset(a, 3, n * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t even, odd;
  CHECK(cudaStreamCreateWithFlags(&even, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&odd, cudaStreamNonBlocking));
  cudaEvent_t even_done, odd_done;
  CHECK(cudaEventCreateWithFlags(&even_done, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&odd_done, cudaEventDisableTiming));
  for (int k = 0; k < 8; k++) {
    if (k == 3) hold(odd);
    CHECK(cudaStreamWaitEvent(even, odd_done, 0));
    even_step<<<n / 256, 256, 0, even>>>(a, n);
    CHECK(cudaEventRecord(even_done, even));
    CHECK(cudaStreamWaitEvent(odd, even_done, 0));
    odd_step<<<n / 256, 256, 0, odd>>>(a, n);
    CHECK(cudaEventRecord(odd_done, odd));
  }
  CHECK(cudaMemcpyAsync(h, a, n * sizeof(unsigned), cudaMemcpyDeviceToHost, odd));
  CHECK(cudaStreamSynchronize(odd));
  report(h, n * sizeof(unsigned));
  return 0;
}
