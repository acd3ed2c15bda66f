// SPDX-License-Identifier: Apache-2.0
// Two results leave through one staging buffer; the first one also goes on to
// a third array.
#include "hold.h"

__global__ void set_to(int* a, int v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = v - i;
}

int main() {
  const int n = 1 << 13;
  const size_t bytes = n * sizeof(int);
  int *r1, *r2, *third, *staging, *seen;
  CHECK(cudaMalloc(&r1, bytes));
  CHECK(cudaMalloc(&r2, bytes));
  CHECK(cudaMalloc(&third, bytes));
  CHECK(cudaMallocHost(&staging, bytes));
  CHECK(cudaMallocHost(&seen, bytes));
  cudaStream_t out, in;
  CHECK(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking));
  cudaEvent_t staged;
  CHECK(cudaEventCreateWithFlags(&staged, cudaEventDisableTiming));

  set_to<<<n / 128, 128, 0, out>>>(r1, 100, n);
  set_to<<<n / 128, 128, 0, out>>>(r2, -5, n);
  CHECK(cudaMemcpyAsync(staging, r1, bytes, cudaMemcpyDeviceToHost, out));
  CHECK(cudaEventRecord(staged, out));
  CHECK(cudaStreamWaitEvent(in, staged));
  hold(in);
  CHECK(cudaMemcpyAsync(third, staging, bytes, cudaMemcpyHostToDevice, in));
  CHECK(cudaMemcpyAsync(staging, r2, bytes, cudaMemcpyDeviceToHost, out));
  CHECK(cudaStreamSynchronize(out));
  CHECK(cudaMemcpyAsync(seen, third, bytes, cudaMemcpyDeviceToHost, in));
  CHECK(cudaStreamSynchronize(in));
  report(seen, bytes);
  return 0;
}
