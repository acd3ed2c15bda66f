// SPDX-License-Identifier: Apache-2.0
// Two streams write the channels of an interleaved picture.
#include "hold.h"

__global__ void warm(unsigned char* rgb, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels) {
    rgb[3 * i] = 200 + i % 50;
    rgb[3 * i + 1] = 10;
  }
}

__global__ void cold(unsigned char* rgb, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels) {
    rgb[3 * i + 1] = 90;
    rgb[3 * i + 2] = 100 + i % 100;
  }
}

int main() {
  const int pixels = 64 * 1024;
  unsigned char *d, *h;
  CHECK(cudaMallocHost(&h, 3 * pixels));
  CHECK(cudaMalloc(&d, 3 * pixels));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  CHECK(cudaMemsetAsync(d, 0, 3 * pixels, s));
  CHECK(cudaStreamSynchronize(s));
  hold(s);
  warm<<<pixels / 256, 256, 0, s>>>(d, pixels);
  cold<<<pixels / 256, 256, 0, t>>>(d, pixels);
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpy(h, d, 3 * pixels, cudaMemcpyDeviceToHost));
  report(h, 3 * pixels);
  return 0;
}
