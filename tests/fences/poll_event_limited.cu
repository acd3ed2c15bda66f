// SPDX-License-Identifier: Apache-2.0
// The host polls an event, with a limit on the number of tries.
#include "hold.h"

__global__ void evolve(unsigned* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * 22695477u + 1;
}

__global__ void take(const unsigned* a, unsigned* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] >> 16;
}

int main() {
  const int n = 1 << 13;
  unsigned *a, *b, *h;
  CHECK(cudaMalloc(&a, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&b, n * sizeof(unsigned)));
  CHECK(cudaMallocHost(&h, n * sizeof(unsigned)));
  CHECK(cudaMemset(a, 0, n * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t done;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  hold(s);
  for (int i = 0; i < 200; i++) {
    evolve<<<n / 256, 256, 0, s>>>(a, n);
  }
  CHECK(cudaEventRecord(done, s));
  for (int tries = 0; tries < 3 && cudaEventQuery(done) == cudaErrorNotReady; tries++) continue;
  take<<<n / 256, 256, 0, t>>>(a, b, n);
  CHECK(cudaMemcpyAsync(h, b, n * sizeof(unsigned), cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  report(h, n * sizeof(unsigned));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
