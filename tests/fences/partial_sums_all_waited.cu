// SPDX-License-Identifier: Apache-2.0
// A sum in parts: each stream reduces its part, the last kernel waits for all.
#include "hold.h"

enum { PARTS = 4, PER = 1 << 13 };

template <int B>
__global__ void reduce(const unsigned* v, int n, unsigned* result) {
  __shared__ unsigned s[B];
  unsigned mine = 0;
  for (int i = threadIdx.x; i < n; i += B) mine += v[i];
  s[threadIdx.x] = mine;
  __syncthreads();
  for (int w = B / 2; w > 0; w /= 2) {
    if ((int)threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) *result = s[0];
}

int main() {
  unsigned *v, *part, *total, answer, *h = (unsigned*)malloc(PARTS * PER * sizeof(unsigned));
  CHECK(cudaMalloc(&v, PARTS * PER * sizeof(unsigned)));
  CHECK(cudaMalloc(&part, PARTS * sizeof(unsigned)));
  CHECK(cudaMalloc(&total, sizeof(unsigned)));
  for (int i = 0; i < PARTS * PER; i++) h[i] = i * 31 % 1009;
  CHECK(cudaMemcpy(v, h, PARTS * PER * sizeof(unsigned), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(part, 0, PARTS * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[PARTS], last;
  cudaEvent_t e[PARTS];
  CHECK(cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking));
  for (int k = 0; k < PARTS; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&e[k], cudaEventDisableTiming));
    if (k == PARTS - 1) hold(s[k]);
    reduce<256><<<1, 256, 0, s[k]>>>(v + k * PER, PER, part + k);
    CHECK(cudaEventRecord(e[k], s[k]));
  }
  for (int k = 0; k < PARTS; k++) CHECK(cudaStreamWaitEvent(last, e[k], 0));
  reduce<32><<<1, 32, 0, last>>>(part, PARTS, total);
  CHECK(cudaMemcpyAsync(&answer, total, sizeof answer, cudaMemcpyDeviceToHost, last));
  CHECK(cudaStreamSynchronize(last));
  report(&answer, sizeof answer);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
