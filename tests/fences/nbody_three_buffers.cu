// SPDX-License-Identifier: Apache-2.0
// Bodies on a line with three buffers of positions; a step waits for the
// snapshot of the buffer that it overwrites.
#include "hold.h"

#define BODIES 256
#define STEPS 7

__global__ void pull(const int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int f = 0;
  for (int j = 0; j < BODIES; j++) f += in[j] > in[i] ? 1 : -1;
  out[i] = in[i] + f / 16;
}

int main() {
  const size_t bytes = BODIES * sizeof(int);
  int *pos[3], *shots;
  cudaEvent_t moved[3], copied[3];
  CHECK(cudaMallocHost(&shots, STEPS * bytes));
  for (int i = 0; i < BODIES; i++) shots[i] = i * i % 1000;
  for (int k = 0; k < 3; k++) {
    CHECK(cudaMalloc(&pos[k], bytes));
    CHECK(cudaEventCreateWithFlags(&moved[k], cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&copied[k], cudaEventDisableTiming));
  }
  cudaStream_t sim, copy;
  CHECK(cudaStreamCreateWithFlags(&sim, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
  CHECK(cudaMemcpyAsync(pos[0], shots, bytes, cudaMemcpyHostToDevice, sim));
  for (int k = 0; k < STEPS; k++) {
    int from = k % 3, to = (k + 1) % 3;
    CHECK(cudaStreamWaitEvent(sim, copied[to], 0));
    pull<<<2, BODIES / 2, 0, sim>>>(pos[from], pos[to]);
    CHECK(cudaEventRecord(moved[to], sim));
    CHECK(cudaStreamWaitEvent(copy, moved[to], 0));
    if (k == 1) hold(copy);
    CHECK(cudaMemcpyAsync(shots + k * BODIES, pos[to], bytes, cudaMemcpyDeviceToHost, copy));
    CHECK(cudaEventRecord(copied[to], copy));
  }
  CHECK(cudaStreamSynchronize(copy));
  report(shots, STEPS * bytes);
  return 0;
}
