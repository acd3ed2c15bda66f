// SPDX-License-Identifier: Apache-2.0
// Chunks go through two device buffers, each with a stream of its own.
#include "hold.h"

enum { CHUNK = 4096, CHUNKS = 8 };

__global__ void transform(int* p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < CHUNK) p[i] = p[i] * p[i] + 3;
}

int main() {
  int *host, *dev[2];
  cudaStream_t st[2];
  CHECK(cudaMallocHost(&host, CHUNKS * CHUNK * sizeof(int)));
  for (int i = 0; i < CHUNKS * CHUNK; i++) host[i] = i % 1000;
  for (int b = 0; b < 2; b++) {
    CHECK(cudaMalloc(&dev[b], CHUNK * sizeof(int)));
    CHECK(cudaStreamCreateWithFlags(&st[b], cudaStreamNonBlocking));
  }
  for (int c = 0; c < CHUNKS; c++) {
    int b = c & 1;
    int* part = host + c * CHUNK;
    CHECK(cudaMemcpyAsync(dev[b], part, CHUNK * 4, cudaMemcpyHostToDevice, st[b]));
    if (c == 3) hold(st[b]);
    transform<<<CHUNK / 256, 256, 0, st[b]>>>(dev[b]);
    CHECK(cudaMemcpyAsync(part, dev[b], CHUNK * 4, cudaMemcpyDeviceToHost, st[b]));
  }
  for (int b = 0; b < 2; b++) CHECK(cudaStreamSynchronize(st[b]));
  report(host, CHUNKS * CHUNK * sizeof(int));
  return 0;
}
