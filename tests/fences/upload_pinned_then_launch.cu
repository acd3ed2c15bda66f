// SPDX-License-Identifier: Apache-2.0
// cudaMemcpy out of pinned memory has ended when it returns: a kernel in a
// stream that does not block needs no more.
#include "hold.h"

template <typename T>
__global__ void negate(T* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = -a[i];
}

template <typename T>
static void round_trip(T* d, T* h, int n, cudaStream_t s) {
  CHECK(cudaMemcpy(d, h, n * sizeof(T), cudaMemcpyHostToDevice));
  hold(s);
  negate<T><<<(n + 127) / 128, 128, 0, s>>>(d, n);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpy(h, d, n * sizeof(T), cudaMemcpyDeviceToHost));
}

int main() {
  const int n = 5000;
  double *h, *d;
  CHECK(cudaMallocHost(&h, n * sizeof(double)));
  CHECK(cudaMalloc(&d, n * sizeof(double)));
  for (int i = 0; i < n; i++) h[i] = 0.25 * i;
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  round_trip(d, h, n, s);
  round_trip((int*)d, (int*)h, n, s);
  report(h, n * sizeof(double));
  CHECK(cudaStreamDestroy(s));
  CHECK(cudaFree(d));
  CHECK(cudaFreeHost(h));
  return 0;
}
