// SPDX-License-Identifier: Apache-2.0
// A message is written in one stream, read in another, and its memory goes
// back to the pool in the first.
#include "hold.h"

__global__ void write_message(char* m, int n, char c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) m[i] = c + i % 26;
}

__global__ void count_vowels(const char* m, int n, int* vowels) {
  int mine = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    mine += m[i] == 'a' || m[i] == 'e' || m[i] == 'i' || m[i] == 'o' || m[i] == 'u';
  }
  atomicAdd(vowels, mine);
}

int main() {
  const int n = 100000;
  int *vowels, answer;
  CHECK(cudaMalloc(&vowels, sizeof(int)));
  CHECK(cudaMemset(vowels, 0, sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t a, b;
  CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  cudaEvent_t written;
  CHECK(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));

  char *message, *other;
  CHECK(cudaMallocAsync(&message, n, a));
  write_message<<<(n + 255) / 256, 256, 0, a>>>(message, n, 'a');
  CHECK(cudaEventRecord(written, a));
  CHECK(cudaStreamWaitEvent(b, written, 0));
  hold(b);
  count_vowels<<<1, 256, 0, b>>>(message, n, vowels);
  CHECK(cudaFreeAsync(message, a));
  CHECK(cudaMallocAsync(&other, n, a));
  CHECK(cudaMemsetAsync(other, 'x', n, a));
  CHECK(cudaFreeAsync(other, a));

  CHECK(cudaMemcpyAsync(&answer, vowels, sizeof answer, cudaMemcpyDeviceToHost, b));
  CHECK(cudaStreamSynchronize(b));
  report(&answer, sizeof answer);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
