// SPDX-License-Identifier: Apache-2.0
// Two streams write triples into their parts of one array; the last triple that
// fits ends one element before the other part.
#include "hold.h"

__global__ void triples(int* a, int n, int v) {
  int q = 3 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (q < n - 2) {
    a[q] = v;
    a[q + 1] = v + 1;
    a[q + 2] = v + 2;
  }
}

int main() {
  const int n = 1000;
  int h[2 * n], *a;
  CHECK(cudaMalloc(&a, sizeof h));
  CHECK(cudaMemset(a, 0, sizeof h));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  triples<<<3, 128, 0, s>>>(a, n, 100);
  triples<<<3, 128, 0, t>>>(a + n - 1, n, 200);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
