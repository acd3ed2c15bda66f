// SPDX-License-Identifier: Apache-2.0
// A producer and a consumer with a ring of four slots.
#include "hold.h"

#define SLOTS 4
#define ITEMS 12
#define WORDS 2048

__global__ void produce(unsigned* slot, unsigned seed) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  slot[i] = (i ^ seed) * 747796405u;
}

__global__ void consume(const unsigned* slot, unsigned* sum) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  sum[i] = sum[i] * 31 + slot[i];
}

int main() {
  unsigned *ring, *sum;
  CHECK(cudaMalloc(&ring, SLOTS * WORDS * sizeof(unsigned)));
  CHECK(cudaMalloc(&sum, WORDS * sizeof(unsigned)));
  CHECK(cudaMemset(sum, 0, WORDS * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  cudaEvent_t full[SLOTS], empty[SLOTS];
  for (int i = 0; i < SLOTS; i++) {
    CHECK(cudaEventCreateWithFlags(&full[i], cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&empty[i], cudaEventDisableTiming));
  }
  cudaStream_t p, c;
  CHECK(cudaStreamCreateWithFlags(&p, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));

  for (int item = 0; item < ITEMS; item++) {
    int k = item % SLOTS;
    unsigned* slot = ring + k * WORDS;
    if (item >= SLOTS) CHECK(cudaStreamWaitEvent(p, empty[k], 0));
    produce<<<WORDS / 256, 256, 0, p>>>(slot, item);
    CHECK(cudaEventRecord(full[k], p));
    CHECK(cudaStreamWaitEvent(c, full[k], 0));
    CHECK(cudaEventRecord(empty[k], c));
    hold(c);
    consume<<<WORDS / 256, 256, 0, c>>>(slot, sum);
  }
  unsigned h[WORDS];
  CHECK(cudaMemcpyAsync(h, sum, sizeof h, cudaMemcpyDeviceToHost, c));
  CHECK(cudaStreamSynchronize(c));
  report(h, sizeof h);
  return 0;
}
