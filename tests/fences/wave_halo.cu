// SPDX-License-Identifier: Apache-2.0
// A wave in two parts, each with a stream; the halo cells go over by copies.
#include "hold.h"

#define CELLS 512

__global__ void step(const int* in, int* out) {
  int i = 1 + threadIdx.x;
  out[i] = in[i - 1] + in[i + 1] - in[i] / 2;
}

int main() {
  const size_t bytes = (CELLS + 2) * sizeof(int), one = sizeof(int);
  int *l[2], *r[2], host[CELLS + 2];
  for (int i = 0; i < CELLS + 2; i++) host[i] = i % 19;
  for (int k = 0; k < 2; k++) {
    CHECK(cudaMalloc(&l[k], bytes));
    CHECK(cudaMalloc(&r[k], bytes));
    CHECK(cudaMemcpy(l[k], host, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(r[k], host, bytes, cudaMemcpyHostToDevice));
  }
  CHECK(cudaDeviceSynchronize());
  cudaStream_t sl, sr;
  CHECK(cudaStreamCreateWithFlags(&sl, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&sr, cudaStreamNonBlocking));
  cudaEvent_t left_stepped;
  CHECK(cudaEventCreateWithFlags(&left_stepped, cudaEventDisableTiming));

  step<<<1, CELLS, 0, sl>>>(l[0], l[1]);
  CHECK(cudaEventRecord(left_stepped, sl));
  hold(sr);
  step<<<1, CELLS, 0, sr>>>(r[0], r[1]);
  CHECK(cudaStreamWaitEvent(sr, left_stepped, 0));
  CHECK(cudaMemcpyAsync(r[1], l[1] + CELLS, one, cudaMemcpyDeviceToDevice, sr));
  CHECK(cudaMemcpyAsync(l[1] + CELLS + 1, r[1] + 1, one, cudaMemcpyDeviceToDevice, sl));
  step<<<1, CELLS, 0, sl>>>(l[1], l[0]);
  step<<<1, CELLS, 0, sr>>>(r[1], r[0]);
  CHECK(cudaStreamSynchronize(sl));
  CHECK(cudaStreamSynchronize(sr));
  CHECK(cudaMemcpy(host, l[0], bytes, cudaMemcpyDeviceToHost));
  report(host, bytes);
  return 0;
}
