// SPDX-License-Identifier: Apache-2.0
// Butterflies of one transform: the first stages in two streams, a half each,
// the last stage over both halves.
#include "hold.h"

__global__ void stage(int* v, int count, int d) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= count) return;
  int i = t / d * 2 * d + t % d;
  int a = v[i], b = v[i + d];
  v[i] = a + b;
  v[i + d] = a - b;
}

int main() {
  const int n = 1024, half = n / 2;
  int h[n], *v;
  for (int i = 0; i < n; i++) h[i] = i % 29;
  CHECK(cudaMalloc(&v, sizeof h));
  CHECK(cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[2];
  for (int k = 0; k < 2; k++) CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
  for (int d = 1; d < half / 2; d *= 2) {
    for (int k = 0; k < 2; k++) stage<<<1, half / 2, 0, s[k]>>>(v + k * half, half / 2, d);
  }
  stage<<<1, half / 2, 0, s[0]>>>(v, half / 2, half / 2);
  hold(s[1]);
  stage<<<1, half / 2, 0, s[1]>>>(v + half, half / 2, half / 2);
  stage<<<1, half, 0, s[0]>>>(v, half, half);
  CHECK(cudaStreamSynchronize(s[0]));
  CHECK(cudaStreamSynchronize(s[1]));
  CHECK(cudaMemcpy(h, v, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
