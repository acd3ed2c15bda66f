// SPDX-License-Identifier: Apache-2.0
// Two streams write different channels of one interleaved picture.
#include "hold.h"

struct Pixel {
  unsigned char r, g, b, a;
};

__global__ void colour(Pixel* p, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels) {
    p[i].r = i;
    p[i].g = i >> 3;
    p[i].b = i >> 6;
  }
}

__global__ void alpha(Pixel* p, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels) p[i].a = 255 - i % 17;
}

int main() {
  const int pixels = 32 * 1024;
  Pixel *d, *h;
  CHECK(cudaMallocHost(&h, pixels * sizeof(Pixel)));
  CHECK(cudaMalloc(&d, pixels * sizeof(Pixel)));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  colour<<<pixels / 256, 256, 0, s>>>(d, pixels);
  alpha<<<pixels / 256, 256, 0, t>>>(d, pixels);
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpy(h, d, pixels * sizeof(Pixel), cudaMemcpyDeviceToHost));
  report(h, pixels * sizeof(Pixel));
  return 0;
}
