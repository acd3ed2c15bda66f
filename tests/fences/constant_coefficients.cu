// SPDX-License-Identifier: Apache-2.0
// A polynomial with its coefficients in constant memory, for two sets of them.
#include "hold.h"

__constant__ int coef[8];

__global__ void horner(int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = 0;
  for (int k = 0; k < 8; k++) v = v * (i & 15) + coef[k];
  y[i] = v;
}

int main() {
  const int n = 8192;
  int *y1, *y2, *sets, *h;
  CHECK(cudaMalloc(&y1, n * sizeof(int)));
  CHECK(cudaMalloc(&y2, n * sizeof(int)));
  CHECK(cudaMallocHost(&sets, 16 * sizeof(int)));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  for (int k = 0; k < 16; k++) sets[k] = 3 * k - 8;
  const size_t len = 8 * sizeof(int);
  cudaStream_t load, run;
  CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&run, cudaStreamNonBlocking));
  cudaEvent_t e;
  CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));

  CHECK(cudaMemcpyToSymbolAsync(coef, sets, len, 0, cudaMemcpyHostToDevice, load));
  CHECK(cudaEventRecord(e, load));
  CHECK(cudaStreamWaitEvent(run, e, 0));
  hold(run);
  horner<<<n / 256, 256, 0, run>>>(y1, n);
  CHECK(cudaMemcpyToSymbolAsync(coef, sets + 8, len, 0, cudaMemcpyHostToDevice, load));
  CHECK(cudaEventRecord(e, load));
  CHECK(cudaStreamWaitEvent(run, e, 0));
  horner<<<n / 256, 256, 0, run>>>(y2, n);
  CHECK(cudaMemcpyAsync(h, y1, n * sizeof(int), cudaMemcpyDeviceToHost, run));
  CHECK(cudaStreamSynchronize(run));
  report(h, n * sizeof(int));
  return 0;
}
