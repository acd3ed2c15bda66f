// SPDX-License-Identifier: Apache-2.0
// The two triangles of one matrix by two kernels in two streams.
#include "hold.h"

#define N 96

__global__ void upper(float* m) {
  int row = blockIdx.x, col = threadIdx.x;
  if (col >= row) m[row * N + col] = row + 0.5f * col + 1.0f;
}

__global__ void lower(float* m) {
  int row = blockIdx.x, col = threadIdx.x;
  if (col <= row) m[row * N + col] = row - 2.0f * col;
}

int main() {
  static float h[N * N];
  float* m;
  CHECK(cudaMalloc(&m, sizeof h));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  upper<<<N, N, 0, s>>>(m);
  lower<<<N, N, 0, t>>>(m);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(h, m, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
