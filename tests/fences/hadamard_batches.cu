// SPDX-License-Identifier: Apache-2.0
// Walsh-Hadamard transforms (the butterflies of an FFT, in integers) of two
// batches, each in its own stream and its own part of one array.
#include "hold.h"

__global__ void butterflies(int* v, int n, int d) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n / 2) return;
  int i = t / d * 2 * d + t % d;
  int a = v[i], b = v[i + d];
  v[i] = a + b;
  v[i + d] = a - b;
}

int main() {
  const int n = 2048, batches = 2;
  int *v, *h = (int*)malloc(batches * n * sizeof(int));
  CHECK(cudaMalloc(&v, batches * n * sizeof(int)));
  for (int i = 0; i < batches * n; i++) h[i] = (i * 5) % 23 - 11;
  CHECK(cudaMemcpy(v, h, batches * n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[batches];
  for (int k = 0; k < batches; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
  }
  for (int d = 1; d < n; d *= 2) {
    for (int k = 0; k < batches; k++) {
      if (d == 32 && k == 0) hold(s[k]);
      butterflies<<<n / 512, 256, 0, s[k]>>>(v + k * n, n, d);
    }
  }
  for (int k = 0; k < batches; k++) CHECK(cudaStreamSynchronize(s[k]));
  CHECK(cudaMemcpy(h, v, batches * n * sizeof(int), cudaMemcpyDeviceToHost));
  report(h, batches * n * sizeof(int));
  free(h);
  return 0;
}
