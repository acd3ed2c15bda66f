// SPDX-License-Identifier: Apache-2.0
// Two streams fill the even and the odd elements of one array.
#include "hold.h"

__global__ void fill_stride(float* a, int n, int first, int stride, float v) {
  for (int i = first + stride * (blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += stride * gridDim.x * blockDim.x) {
    a[i] = v * i;
  }
}

__global__ void evens(float* a, int n) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) a[i] += 1;
}

__global__ void odds(float* a, int n) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1;
  if (i < n) a[i] -= 1;
}

int main() {
  const int n = 1 << 14;
  float *a, *h = (float*)malloc(n * sizeof(float));
  CHECK(cudaMalloc(&a, n * sizeof(float)));
  cudaStream_t even, odd;
  CHECK(cudaStreamCreateWithFlags(&even, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&odd, cudaStreamNonBlocking));
  hold(even);
  fill_stride<<<16, 128, 0, even>>>(a, n, 0, 2, 1.5f);
  evens<<<n / 512, 256, 0, even>>>(a, n);
  fill_stride<<<16, 128, 0, odd>>>(a, n, 1, 2, -2.5f);
  odds<<<n / 512, 256, 0, odd>>>(a, n);
  CHECK(cudaStreamSynchronize(even));
  CHECK(cudaStreamSynchronize(odd));
  CHECK(cudaMemcpy(h, a, n * sizeof(float), cudaMemcpyDeviceToHost));
  report(h, n * sizeof(float));
  free(h);
  return 0;
}
