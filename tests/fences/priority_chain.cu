// SPDX-License-Identifier: Apache-2.0
// Three streams of different priorities; events hand the array from the lowest to the highest.
#include "hold.h"

__global__ void pass_on(unsigned* a, unsigned k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = (a[i] << 2) ^ (k + i);
}

int main() {
  const int n = 1 << 13;
  int least, greatest;
  unsigned *a, *h;
  CHECK(cudaMalloc(&a, n * sizeof(unsigned)));
  CHECK(cudaMallocHost(&h, n * sizeof(unsigned)));
  CHECK(cudaMemset(a, 1, n * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t s[3];
  cudaEvent_t done[3];
  for (int k = 0; k < 3; k++) {
    int priority = least + (greatest - least) * k / 2;
    CHECK(cudaStreamCreateWithPriority(&s[k], cudaStreamNonBlocking, priority));
    CHECK(cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming));
  }
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < 3; k++) {
      CHECK(cudaStreamWaitEvent(s[k], done[(k + 2) % 3], 0));
      if (round == 1 && k == 0) hold(s[k]);
      pass_on<<<n / 256, 256, 0, s[k]>>>(a, 10 * round + k, n);
      CHECK(cudaEventRecord(done[k], s[k]));
    }
  }
  CHECK(cudaMemcpyAsync(h, a, n * sizeof(unsigned), cudaMemcpyDeviceToHost, s[2]));
  CHECK(cudaStreamSynchronize(s[2]));
  report(h, n * sizeof(unsigned));
  return 0;
}
