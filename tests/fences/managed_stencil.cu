// SPDX-License-Identifier: Apache-2.0
// Two streams have a half of a managed array each, and wait for each other after every step.
#include "hold.h"

__global__ void relax(const float* from, float* to, int first, int count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  i += first;
  if (i > 0 && i < n - 1) to[i] = (from[i - 1] + from[i + 1]) / 2;
}

int main() {
  const int n = 1 << 12, steps = 5;
  float* v[2];
  for (int k = 0; k < 2; k++) {
    CHECK(cudaMallocManaged(&v[k], n * sizeof(float)));
    for (int i = 0; i < n; i++) v[k][i] = (float)(i % 97);
  }
  cudaStream_t s[2];
  cudaEvent_t done[2];
  for (int k = 0; k < 2; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming));
  }
  for (int i = 0; i < steps; i++) {
    if (i == 1) hold(s[0]);
    for (int k = 0; k < 2; k++) {
      relax<<<n / 512, 256, 0, s[k]>>>(v[i % 2], v[1 - i % 2], k * n / 2, n / 2, n);
      CHECK(cudaEventRecord(done[k], s[k]));
    }
    for (int k = 0; k < 2; k++) CHECK(cudaStreamWaitEvent(s[k], done[1 - k], 0));
  }
  for (int k = 0; k < 2; k++) CHECK(cudaStreamSynchronize(s[k]));
  report(v[steps % 2], n * sizeof(float));
  return 0;
}
