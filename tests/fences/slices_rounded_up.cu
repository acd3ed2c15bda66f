// SPDX-License-Identifier: Apache-2.0
// Each stream labels its slice of an array with its own number.
#include "hold.h"

__global__ void label(int* base, int offset, int count, int who) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) base[offset + i] = who;
}

int main() {
  const int total = 1 << 14, parts = 2;
  const int step = total / parts;
  int* d;
  CHECK(cudaMalloc(&d, (total + 1) * sizeof(int)));
  CHECK(cudaMemset(d, 0, (total + 1) * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[parts];
  for (int k = 0; k < parts; k++) CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));

  int count = step + 1;
  hold(s[0]);
  label<<<(count + 255) / 256, 256, 0, s[0]>>>(d, 0, count, 100);
  label<<<(count + 255) / 256, 256, 0, s[1]>>>(d, step, count, 101);
  CHECK(cudaDeviceSynchronize());
  int* h = (int*)malloc(total * sizeof(int));
  CHECK(cudaMemcpy(h, d, total * sizeof(int), cudaMemcpyDeviceToHost));
  report(h, total * sizeof(int));
  free(h);
  return 0;
}
