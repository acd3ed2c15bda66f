// SPDX-License-Identifier: Apache-2.0
// Chunks go through two device buffers.
#include "hold.h"

enum { CHUNK = 4096, CHUNKS = 9 };

__global__ void digest(const int* chunk, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < CHUNK) out[i] = chunk[i] * 7 + i;
}

int main() {
  int *all, *chunk[2], *out, *h;
  cudaEvent_t uploaded[2];
  CHECK(cudaMalloc(&out, CHUNKS * CHUNK * sizeof(int)));
  CHECK(cudaMallocHost(&h, CHUNKS * CHUNK * sizeof(int)));
  CHECK(cudaMallocHost(&all, CHUNKS * CHUNK * sizeof(int)));
  for (int i = 0; i < CHUNKS * CHUNK; i++) all[i] = i % 1013;
  for (int b = 0; b < 2; b++) {
    CHECK(cudaMalloc(&chunk[b], CHUNK * sizeof(int)));
    CHECK(cudaEventCreateWithFlags(&uploaded[b], cudaEventDisableTiming));
  }
  cudaStream_t up, work;
  CHECK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  for (int k = 0; k < CHUNKS; k++) {
    int b = k % 2;
    CHECK(cudaMemcpyAsync(chunk[b], all + k * CHUNK, CHUNK * 4, cudaMemcpyHostToDevice, up));
    CHECK(cudaEventRecord(uploaded[b], up));
    CHECK(cudaStreamWaitEvent(work, uploaded[b], 0));
    if (k == 1) hold(work);
    digest<<<CHUNK / 256, 256, 0, work>>>(chunk[b], out + k * CHUNK);
  }
  CHECK(cudaMemcpyAsync(h, out, CHUNKS * CHUNK * 4, cudaMemcpyDeviceToHost, work));
  CHECK(cudaStreamSynchronize(work));
  report(h, CHUNKS * CHUNK * sizeof(int));
  return 0;
}
