// SPDX-License-Identifier: Apache-2.0
// Two streams fill the left and the right half of a picture whose halves are no
// whole number of blocks wide: the guard cuts the last blocks.
#include "hold.h"

__global__ void paint(int* img, int pitch, int x0, int w, int h, int colour) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) img[y * pitch + x0 + x] = colour + x;
}

int main() {
  const int half = 50, h = 90, pitch = 2 * half;
  static int host[90 * 100];
  int* img;
  CHECK(cudaMalloc(&img, sizeof host));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  dim3 block(32, 8), grid((half + 31) / 32, (h + 7) / 8);
  hold(s);
  paint<<<grid, block, 0, s>>>(img, pitch, 0, half, h, 1000);
  paint<<<grid, block, 0, t>>>(img, pitch, half, half, h, 2000);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(host, img, sizeof host, cudaMemcpyDeviceToHost));
  report(host, sizeof host);
  return 0;
}
