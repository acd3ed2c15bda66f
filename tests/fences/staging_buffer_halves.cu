// SPDX-License-Identifier: Apache-2.0
// One pinned buffer, two streams: the one downloads into its front half, the
// other uploads from its back half.
#include "hold.h"

__global__ void mix(int* a, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * 5 + k;
}

int main() {
  const int n = 1 << 12;
  const size_t half = n * sizeof(int);
  int *d[2], *pinned;
  CHECK(cudaMallocHost(&pinned, 2 * half));
  for (int i = 0; i < 2 * n; i++) pinned[i] = i;
  cudaStream_t s[2];
  for (int i = 0; i < 2; i++) {
    CHECK(cudaMalloc(&d[i], half));
    CHECK(cudaMemset(d[i], 0, half));
    CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
  }
  CHECK(cudaDeviceSynchronize());

  mix<<<n / 256, 256, 0, s[0]>>>(d[0], 9, n);
  hold(s[0]);
  CHECK(cudaMemcpyAsync(pinned, d[0], half, cudaMemcpyDeviceToHost, s[0]));
  CHECK(cudaMemcpyAsync(d[1], pinned + n, half, cudaMemcpyHostToDevice, s[1]));
  mix<<<n / 256, 256, 0, s[1]>>>(d[1], 2, n);
  CHECK(cudaStreamSynchronize(s[0]));
  CHECK(cudaMemcpyAsync(pinned + n, d[1], half, cudaMemcpyDeviceToHost, s[1]));
  CHECK(cudaStreamSynchronize(s[1]));
  report(pinned, 2 * half);
  return 0;
}
