// SPDX-License-Identifier: Apache-2.0
// Four streams, each with its quarter of one array: the kernel gets the base
// and an offset.
#include "hold.h"

__global__ void cube(int* base, int offset, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    int v = base[offset + i];
    base[offset + i] = v * v * v;
  }
}

int main() {
  const int total = 20002, parts = 4;
  int *d, *h = (int*)malloc(total * sizeof(int));
  CHECK(cudaMalloc(&d, total * sizeof(int)));
  for (int i = 0; i < total; i++) h[i] = i % 301;
  CHECK(cudaMemcpy(d, h, total * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[parts];
  for (int k = 0; k < parts; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
  }
  for (int k = 0; k < parts; k++) {
    int from = (int)((long)total * k / parts), to = (int)((long)total * (k + 1) / parts);
    if (k == 0) hold(s[k]);
    cube<<<(to - from + 127) / 128, 128, 0, s[k]>>>(d, from, to - from);
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h, d, total * sizeof(int), cudaMemcpyDeviceToHost));
  report(h, total * sizeof(int));
  free(h);
  return 0;
}
