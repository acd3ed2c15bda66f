// SPDX-License-Identifier: Apache-2.0
// The host polls an event until it has happened, then launches in another
// stream without any wait in the streams.
#include "hold.h"

__global__ void powers(unsigned* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    unsigned p = 1;
    for (int k = 0; k < 16; k++) p = p * (i | 1) + k;
    a[i] = p;
  }
}

__global__ void parity(const unsigned* a, unsigned char* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = __popc(a[i]) & 1;
}

int main() {
  const int n = 1 << 15;
  unsigned* a;
  unsigned char *b, *h;
  CHECK(cudaMalloc(&a, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&b, n));
  CHECK(cudaMallocHost(&h, n));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t done;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  hold(s);
  powers<<<n / 256, 256, 0, s>>>(a, n);
  CHECK(cudaEventRecord(done, s));
  cudaError_t e;
  while ((e = cudaEventQuery(done)) == cudaErrorNotReady) continue;
  CHECK(e);
  parity<<<n / 256, 256, 0, t>>>(a, b, n);
  CHECK(cudaMemcpyAsync(h, b, n, cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  report(h, n);
  return 0;
}
