// SPDX-License-Identifier: Apache-2.0
// Streams in order by nothing but the host: it waits for an event of the one
// before it launches in the other, and frees with a call that waits.
#include "hold.h"

__global__ void lcg(unsigned* a, unsigned seed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = (seed + i) * 1103515245u + 12345u;
}

__global__ void xor_with(unsigned* a, const unsigned* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] ^= b[i];
}

int main() {
  const int n = 1 << 12;
  unsigned *a, *b, h[n];
  CHECK(cudaMalloc(&a, sizeof h));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t e;
  CHECK(cudaEventCreateWithFlags(&e, cudaEventBlockingSync | cudaEventDisableTiming));
  lcg<<<n / 256, 256, 0, s>>>(a, 1, n);
  CHECK(cudaStreamSynchronize(s));
  for (int k = 0; k < 3; k++) {
    CHECK(cudaMalloc(&b, sizeof h));
    hold(t);
    lcg<<<n / 256, 256, 0, t>>>(b, k, n);
    CHECK(cudaEventRecord(e, t));
    CHECK(cudaEventSynchronize(e));
    xor_with<<<n / 256, 256, 0, s>>>(a, b, n);
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaFree(b));
  }
  CHECK(cudaMemcpyAsync(h, a, sizeof h, cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  report(h, sizeof h);
  return 0;
}
