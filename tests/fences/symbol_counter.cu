// SPDX-License-Identifier: Apache-2.0
// Counts primes into a global variable of the device, read back by symbol.
#include "hold.h"

__device__ unsigned prime_count;

__global__ void count_primes(unsigned n) {
  unsigned i = 2 + blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (unsigned d = 2; d * d <= i; d++) {
    if (i % d == 0) return;
  }
  atomicAdd(&prime_count, 1u);
}

int main() {
  unsigned zero = 0, *answer;
  CHECK(cudaMallocHost(&answer, sizeof *answer));
  CHECK(cudaMemcpyToSymbol(prime_count, &zero, sizeof zero));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  const size_t len = sizeof *answer;
  hold(s);
  count_primes<<<64, 256, 0, s>>>(16000);
  CHECK(cudaMemcpyFromSymbolAsync(answer, prime_count, len, 0, cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  report(answer, len);
  CHECK(cudaStreamSynchronize(s));
  return 0;
}
