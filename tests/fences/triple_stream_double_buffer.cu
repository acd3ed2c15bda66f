// SPDX-License-Identifier: Apache-2.0
// Chunks go through device buffers in turn.
#include "hold.h"

enum { CHUNK = 4096, CHUNKS = 6, NBUF = 2, NSTREAM = 3 };

__global__ void transform(int* p, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < CHUNK) p[i] = p[i] * p[i] + k;
}

__attribute__((noinline)) static void send(int* d, const int* h, cudaStream_t s) {
  CHECK(cudaMemcpyAsync(d, h, CHUNK * 4, cudaMemcpyHostToDevice, s));
}

__attribute__((noinline)) static void compute(int* d, int k, cudaStream_t s) {
  transform<<<CHUNK / 256, 256, 0, s>>>(d, k);
}

int main() {
  int *in, *out, *dev[NBUF];
  cudaStream_t st[NSTREAM];
  CHECK(cudaMallocHost(&in, CHUNKS * CHUNK * sizeof(int)));
  CHECK(cudaMallocHost(&out, CHUNKS * CHUNK * sizeof(int)));
  for (int i = 0; i < CHUNKS * CHUNK; i++) in[i] = i % 1000;
  for (int b = 0; b < NBUF; b++) CHECK(cudaMalloc(&dev[b], CHUNK * sizeof(int)));
  for (int s = 0; s < NSTREAM; s++) {
    CHECK(cudaStreamCreateWithFlags(&st[s], cudaStreamNonBlocking));
  }
  for (int c = 0; c < CHUNKS; c++) {
    int* buffer = dev[c % NBUF];
    cudaStream_t s = st[c % NSTREAM];
    send(buffer, in + c * CHUNK, s);
    if (c == 1) hold(s);
    compute(buffer, c, s);
    CHECK(cudaMemcpyAsync(out + c * CHUNK, buffer, CHUNK * 4, cudaMemcpyDeviceToHost, s));
  }
  for (int s = 0; s < NSTREAM; s++) CHECK(cudaStreamSynchronize(st[s]));
  report(out, CHUNKS * CHUNK * sizeof(int));
  return 0;
}
