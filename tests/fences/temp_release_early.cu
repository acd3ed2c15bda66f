// SPDX-License-Identifier: Apache-2.0
// A temporary of a solver, its memory given back by the stream that loaded it.
#include "hold.h"

__global__ void jacobi(const float* b, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (b[i] - (i ? x[i - 1] : 0) - (i + 1 < n ? x[i + 1] : 0)) / 4;
}

int main() {
  const int n = 1 << 15;
  const size_t bytes = n * sizeof(float);
  float *b, *x, *y, *next, *hb;
  CHECK(cudaMallocHost(&hb, bytes));
  for (int i = 0; i < n; i++) hb[i] = i % 11;
  CHECK(cudaMalloc(&x, bytes));
  CHECK(cudaMalloc(&y, bytes));
  CHECK(cudaMemset(x, 0, bytes));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t io, compute;
  CHECK(cudaStreamCreateWithFlags(&io, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  cudaEvent_t loaded;
  CHECK(cudaEventCreateWithFlags(&loaded, cudaEventDisableTiming));

  CHECK(cudaMallocAsync((void**)&b, bytes, io));
  CHECK(cudaMemcpyAsync(b, hb, bytes, cudaMemcpyHostToDevice, io));
  CHECK(cudaEventRecord(loaded, io));
  CHECK(cudaStreamWaitEvent(compute, loaded, 0));
  hold(compute);
  jacobi<<<n / 256, 256, 0, compute>>>(b, x, y, n);
  CHECK(cudaFreeAsync(b, io));
  CHECK(cudaMallocAsync((void**)&next, bytes, io));
  CHECK(cudaMemsetAsync(next, 0x40, bytes, io));
  CHECK(cudaMemcpyAsync(hb, y, bytes, cudaMemcpyDeviceToHost, compute));
  CHECK(cudaStreamSynchronize(compute));
  report(hb, bytes);
  CHECK(cudaFreeAsync(next, io));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
