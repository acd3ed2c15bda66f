// SPDX-License-Identifier: Apache-2.0
// An event recorded in the legacy default stream stands after the work of all
// blocking streams; a non-blocking stream waits for it.
#include "hold.h"

__global__ void part(int* a, int from, int n, int v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[from + i] = v * i;
}

__global__ void gather(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[(i * 17) % n];
}

int main() {
  const int n = 4096, parts = 4, per = n / parts;
  int *a, *b, h[n];
  CHECK(cudaMalloc(&a, sizeof h));
  CHECK(cudaMalloc(&b, sizeof h));
  cudaStream_t s[parts], reader;
  for (int k = 0; k < parts; k++) CHECK(cudaStreamCreate(&s[k]));
  CHECK(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
  cudaEvent_t all;
  CHECK(cudaEventCreateWithFlags(&all, cudaEventDisableTiming));
  for (int k = 0; k < parts; k++) {
    if (k == 2) hold(s[k]);
    part<<<per / 256, 256, 0, s[k]>>>(a, k * per, per, k + 1);
  }
  CHECK(cudaEventRecord(all, cudaStreamLegacy));
  CHECK(cudaStreamWaitEvent(reader, all, 0));
  gather<<<n / 256, 256, 0, reader>>>(a, b, n);
  CHECK(cudaMemcpyAsync(h, b, sizeof h, cudaMemcpyDeviceToHost, reader));
  CHECK(cudaStreamSynchronize(reader));
  report(h, sizeof h);
  return 0;
}
