// SPDX-License-Identifier: Apache-2.0
// Chunks go through three device buffers and three pinned ones; each is used again when the event
// after its last use says so.
#include "hold.h"

enum { CHUNK = 4096, CHUNKS = 9 };

__global__ void digest(const int* chunk, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < CHUNK) out[i] = chunk[i] * 7 + i;
}

int main() {
  int *staging[3], *chunk[3], *out, *h;
  cudaEvent_t uploaded[3], digested[3];
  CHECK(cudaMalloc(&out, CHUNKS * CHUNK * sizeof(int)));
  CHECK(cudaMallocHost(&h, CHUNKS * CHUNK * sizeof(int)));
  for (int b = 0; b < 3; b++) {
    CHECK(cudaMallocHost(&staging[b], CHUNK * sizeof(int)));
    CHECK(cudaMalloc(&chunk[b], CHUNK * sizeof(int)));
    CHECK(cudaEventCreateWithFlags(&uploaded[b], cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&digested[b], cudaEventDisableTiming));
  }
  cudaStream_t up, work;
  CHECK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  for (int k = 0; k < CHUNKS; k++) {
    int b = k % 3;
    CHECK(cudaEventSynchronize(uploaded[b]));
    for (int i = 0; i < CHUNK; i++) staging[b][i] = k * i;
    CHECK(cudaStreamWaitEvent(up, digested[b], 0));
    CHECK(cudaMemcpyAsync(chunk[b], staging[b], CHUNK * 4, cudaMemcpyHostToDevice, up));
    CHECK(cudaEventRecord(uploaded[b], up));
    CHECK(cudaStreamWaitEvent(work, uploaded[b], 0));
    if (k == 1) hold(work);
    digest<<<CHUNK / 256, 256, 0, work>>>(chunk[b], out + k * CHUNK);
    CHECK(cudaEventRecord(digested[b], work));
  }
  CHECK(cudaMemcpyAsync(h, out, CHUNKS * CHUNK * 4, cudaMemcpyDeviceToHost, work));
  CHECK(cudaStreamSynchronize(work));
  report(h, CHUNKS * CHUNK * sizeof(int));
  return 0;
}
