// SPDX-License-Identifier: Apache-2.0
// A maximum in parts: each stream takes its part, the last kernel the parts.
#include "hold.h"

enum { PARTS = 3, PER = 4096 };

__global__ void maximum(const int* v, int n, int* result) {
  int best = v[0];
  for (int i = threadIdx.x; i < n; i += 32) best = max(best, v[i]);
  for (int w = 16; w > 0; w /= 2) best = max(best, __shfl_down_sync(~0u, best, w));
  if (threadIdx.x == 0) *result = best;
}

__attribute__((noinline)) static void launch_part(const int* v, int* part, int k, cudaStream_t s) {
  maximum<<<1, 32, 0, s>>>(v + k * PER, PER, part + k);
}

__attribute__((noinline)) static void launch_total(const int* part, int* total, cudaStream_t s) {
  maximum<<<1, 32, 0, s>>>(part, PARTS, total);
}

int main() {
  int *v, *part, *total, answer, *h = (int*)malloc(PARTS * PER * sizeof(int));
  CHECK(cudaMalloc(&v, PARTS * PER * sizeof(int)));
  CHECK(cudaMalloc(&part, PARTS * sizeof(int)));
  CHECK(cudaMalloc(&total, sizeof(int)));
  for (int i = 0; i < PARTS * PER; i++) h[i] = i;
  CHECK(cudaMemcpy(v, h, PARTS * PER * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(part, 0, PARTS * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[PARTS], last;
  cudaEvent_t e[PARTS];
  CHECK(cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking));
  for (int k = 0; k < PARTS; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&e[k], cudaEventDisableTiming));
    if (k == PARTS - 1) hold(s[k]);
    launch_part(v, part, k, s[k]);
    CHECK(cudaEventRecord(e[k], s[k]));
  }
  for (int k = 0; k < PARTS - 1; k++) CHECK(cudaStreamWaitEvent(last, e[k], 0));
  launch_total(part, total, last);
  CHECK(cudaMemcpyAsync(&answer, total, sizeof answer, cudaMemcpyDeviceToHost, last));
  CHECK(cudaStreamSynchronize(last));
  report(&answer, sizeof answer);
  CHECK(cudaDeviceSynchronize());
  free(h);
  return 0;
}
