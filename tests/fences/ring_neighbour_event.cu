// SPDX-License-Identifier: Apache-2.0
// A ring of four slots; the producer waits for the event of the next slot,
// which was recorded later than that of its own and so covers it.
#include "hold.h"

#define SLOTS 4
#define ITEMS 12
#define WORDS 1024

__global__ void produce(unsigned* slot, unsigned seed) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  slot[i] = i + seed * 977u;
}

__global__ void consume(const unsigned* slot, unsigned* sum) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  sum[i] = sum[i] * 33 + slot[i];
}

int main() {
  unsigned *ring, *sum, h[WORDS];
  CHECK(cudaMalloc(&ring, SLOTS * WORDS * sizeof(unsigned)));
  CHECK(cudaMalloc(&sum, sizeof h));
  CHECK(cudaMemset(sum, 0, sizeof h));
  CHECK(cudaDeviceSynchronize());
  cudaEvent_t full, empty[SLOTS];
  CHECK(cudaEventCreateWithFlags(&full, cudaEventDisableTiming));
  for (cudaEvent_t& e : empty) CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  cudaStream_t p, c;
  CHECK(cudaStreamCreateWithFlags(&p, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
  for (int item = 0; item < ITEMS; item++) {
    int k = item % SLOTS, next = (item + 1) % SLOTS;
    if (item >= SLOTS) CHECK(cudaStreamWaitEvent(p, empty[next], 0));
    produce<<<WORDS / 256, 256, 0, p>>>(ring + k * WORDS, item);
    CHECK(cudaEventRecord(full, p));
    CHECK(cudaStreamWaitEvent(c, full, 0));
    if (item == 1) hold(c);
    consume<<<WORDS / 256, 256, 0, c>>>(ring + k * WORDS, sum);
    CHECK(cudaEventRecord(empty[k], c));
  }
  CHECK(cudaMemcpyAsync(h, sum, sizeof h, cudaMemcpyDeviceToHost, c));
  CHECK(cudaStreamSynchronize(c));
  report(h, sizeof h);
  return 0;
}
