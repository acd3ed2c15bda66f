// SPDX-License-Identifier: Apache-2.0
// One stream scales a vector, a second one adds it to another: an event hands
// it over.
#include "hold.h"

__global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}

__global__ void saxpy(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

int main() {
  const int n = 1 << 16;
  float *hx, *hy, *dx, *dy;
  CHECK(cudaMallocHost(&hx, n * sizeof(float)));
  CHECK(cudaMallocHost(&hy, n * sizeof(float)));
  CHECK(cudaMalloc(&dx, n * sizeof(float)));
  CHECK(cudaMalloc(&dy, n * sizeof(float)));
  for (int i = 0; i < n; i++) {
    hx[i] = i % 97;
    hy[i] = i % 31;
  }
  cudaStream_t first, second;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  cudaEvent_t ready;
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));

  CHECK(cudaMemcpyAsync(dx, hx, n * sizeof(float), cudaMemcpyHostToDevice, first));
  CHECK(cudaMemcpyAsync(dy, hy, n * sizeof(float), cudaMemcpyHostToDevice, second));
  hold(first);
  scale<<<n / 256, 256, 0, first>>>(dx, 3.0f, n);
  CHECK(cudaEventRecord(ready, first));
  CHECK(cudaStreamWaitEvent(second, ready, 0));
  saxpy<<<n / 256, 256, 0, second>>>(dy, dx, 2.0f, n);
  CHECK(cudaMemcpyAsync(hy, dy, n * sizeof(float), cudaMemcpyDeviceToHost, second));
  CHECK(cudaStreamSynchronize(second));
  report(hy, n * sizeof(float));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
