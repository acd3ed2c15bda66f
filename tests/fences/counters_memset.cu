// SPDX-License-Identifier: Apache-2.0
// Clears a table of counters between two rounds of counting.
#include "hold.h"

__global__ void set_round(unsigned* table, unsigned round, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2) table[i] = round * 1000 + i;
}

int main() {
  const int n = 8192;
  unsigned* table;
  CHECK(cudaMalloc(&table, n * sizeof *table));
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));

  hold(s);
  set_round<<<n / 256, 256, 0, s>>>(table, 1, n);
  CHECK(cudaMemset(table, 0, n * sizeof *table));
  CHECK(cudaDeviceSynchronize());

  unsigned* h = (unsigned*)malloc(n * sizeof *h);
  CHECK(cudaMemcpy(h, table, n * sizeof *h, cudaMemcpyDeviceToHost));
  report(h, n * sizeof *h);
  free(h);
  CHECK(cudaFree(table));
  return 0;
}
