// SPDX-License-Identifier: Apache-2.0
// Swaps two arrays through a third one with three copies.
#include "hold.h"

int main() {
  const int n = 1 << 14;
  const size_t bytes = n * sizeof(int);
  int *a, *b, *tmp, *h;
  CHECK(cudaMallocHost(&h, 2 * bytes));
  for (int i = 0; i < 2 * n; i++) h[i] = i * 3;
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMalloc(&tmp, bytes));
  CHECK(cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(b, h + n, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t moved;
  CHECK(cudaEventCreateWithFlags(&moved, cudaEventDisableTiming));
  hold(s);
  CHECK(cudaMemcpyAsync(tmp, a, bytes, cudaMemcpyDeviceToDevice, s));
  CHECK(cudaMemcpyAsync(a, b, bytes, cudaMemcpyDeviceToDevice, t));
  CHECK(cudaEventRecord(moved, t));
  CHECK(cudaStreamWaitEvent(s, moved, 0));
  CHECK(cudaMemcpyAsync(b, tmp, bytes, cudaMemcpyDeviceToDevice, s));
  CHECK(cudaMemcpyAsync(h, a, bytes, cudaMemcpyDeviceToHost, s));
  CHECK(cudaMemcpyAsync(h + n, b, bytes, cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, 2 * bytes);
  return 0;
}
