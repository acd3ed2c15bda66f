// SPDX-License-Identifier: Apache-2.0
// Four streams, each with its quarter of one array by base + offset.
#include "hold.h"

__global__ void cube(long long* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * p[i] * p[i];
}

int main() {
  const int parts = 4, n = 5000;
  long long *d, *h;
  CHECK(cudaMallocHost(&h, parts * n * sizeof *h));
  CHECK(cudaMalloc(&d, parts * n * sizeof *d));
  for (int i = 0; i < parts * n; i++) h[i] = i - 7;
  cudaStream_t s[parts];
  for (int k = 0; k < parts; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
    long long *dk = d + k * n, *hk = h + k * n;
    CHECK(cudaMemcpyAsync(dk, hk, n * sizeof *d, cudaMemcpyHostToDevice, s[k]));
    if (k == 1) hold(s[k]);
    cube<<<(n + 255) / 256, 256, 0, s[k]>>>(dk, n);
    CHECK(cudaMemcpyAsync(hk, dk, n * sizeof *d, cudaMemcpyDeviceToHost, s[k]));
  }
  for (int k = 0; k < parts; k++) CHECK(cudaStreamSynchronize(s[k]));
  report(h, parts * n * sizeof *h);
  return 0;
}
