// SPDX-License-Identifier: Apache-2.0
// A filter in constant memory, replaced between two launches with events both
// ways.
#include "hold.h"

__constant__ float taps[5];

__global__ void fir(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 4 >= n) return;
  float s = 0;
  for (int k = 0; k < 5; k++) s += taps[k] * x[i + k];
  y[i] = s;
}

int main() {
  const int n = 4096;
  float *x, *y[2], *t, *h;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMallocHost(&t, 10 * sizeof(float)));
  CHECK(cudaMallocHost(&h, n * sizeof(float)));
  for (int k = 0; k < 10; k++) t[k] = (k % 5) - 2.0f + k / 5;
  for (int i = 0; i < n; i++) h[i] = i % 100;
  CHECK(cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice));
  for (int k = 0; k < 2; k++) {
    CHECK(cudaMalloc(&y[k], n * sizeof(float)));
    CHECK(cudaMemset(y[k], 0, n * sizeof(float)));
  }
  CHECK(cudaDeviceSynchronize());
  cudaStream_t load, run;
  CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&run, cudaStreamNonBlocking));
  cudaEvent_t there, used;
  CHECK(cudaEventCreateWithFlags(&there, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
  for (int k = 0; k < 2; k++) {
    if (k) CHECK(cudaStreamWaitEvent(load, used, 0));
    CHECK(cudaMemcpyToSymbolAsync(taps, t + 5 * k, 5 * sizeof(float), 0,
                                  cudaMemcpyHostToDevice, load));
    CHECK(cudaEventRecord(there, load));
    CHECK(cudaStreamWaitEvent(run, there, 0));
    hold(run);
    fir<<<n / 128, 128, 0, run>>>(x, y[k], n);
    CHECK(cudaEventRecord(used, run));
  }
  CHECK(cudaMemcpyAsync(h, y[0], n * sizeof(float), cudaMemcpyDeviceToHost, run));
  CHECK(cudaStreamSynchronize(run));
  report(h, n * sizeof(float));
  return 0;
}
