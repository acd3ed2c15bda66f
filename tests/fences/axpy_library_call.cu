// SPDX-License-Identifier: Apache-2.0
// A small "library" whose calls take a stream with a default.
#include "hold.h"

namespace lib {
__global__ void axpy_kernel(int n, int a, const int* x, int* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

__attribute__((noinline)) void axpy(int n, int a, const int* x, int* y, cudaStream_t s = 0) {
  axpy_kernel<<<(n + 255) / 256, 256, 0, s>>>(n, a, x, y);
  CHECK(cudaGetLastError());
}

__attribute__((noinline)) void upload(int* dst, const int* src, int n, cudaStream_t s = 0) {
  CHECK(cudaMemcpyAsync(dst, src, n * sizeof(int), cudaMemcpyHostToDevice, s));
}
}  // namespace lib

int main() {
  const int n = 30000;
  int *hx, *hy, *x, *y;
  CHECK(cudaMallocHost(&hx, n * sizeof(int)));
  CHECK(cudaMallocHost(&hy, n * sizeof(int)));
  for (int i = 0; i < n; i++) hx[i] = i;
  CHECK(cudaMalloc(&x, n * sizeof(int)));
  CHECK(cudaMalloc(&y, n * sizeof(int)));
  CHECK(cudaMemset(x, 0, n * sizeof(int)));
  CHECK(cudaMemset(y, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());

  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  hold(s);
  lib::upload(x, hx, n, s);
  lib::axpy(n, 4, x, y);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpy(hy, y, n * sizeof(int), cudaMemcpyDeviceToHost));
  report(hy, n * sizeof(int));
  return 0;
}
