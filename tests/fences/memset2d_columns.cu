// SPDX-License-Identifier: Apache-2.0
// Three blocks of columns of a pitched image: two are cleared, a kernel draws the third one.
#include "hold.h"

__global__ void draw(unsigned char* image, int pitch, int width) {
  int x = threadIdx.x, y = blockIdx.x;
  if (x < width) image[y * pitch + x] = (unsigned char)(x + 3 * y);
}

int main() {
  const size_t rows = 64, width = 384;
  unsigned char *image, *back;
  size_t pitch;
  CHECK(cudaMallocPitch(&image, &pitch, width, rows));
  CHECK(cudaMallocHost(&back, rows * width));
  CHECK(cudaMemset2D(image, pitch, 9, width, rows));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t left, middle, right;
  CHECK(cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&middle, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking));
  hold(left);
  CHECK(cudaMemset2DAsync(image, pitch, 1, 100, rows, left));
  draw<<<rows, 128, 0, middle>>>(image + 100, (int)pitch, 128);
  CHECK(cudaMemset2DAsync(image + 228, pitch, 2, width - 228, rows, right));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy2D(back, width, image, pitch, width, rows, cudaMemcpyDeviceToHost));
  report(back, rows * width);
  return 0;
}
