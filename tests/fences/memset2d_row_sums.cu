// SPDX-License-Identifier: Apache-2.0
// A margin of an image is cleared; a kernel adds up the rows.
#include "hold.h"

__global__ void row_sums(const unsigned char* image, int pitch, int width, unsigned* sums) {
  unsigned sum = 0;
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  for (int x = 0; x < width; x++) sum += image[y * pitch + x];
  sums[y] = sum;
}

int main() {
  const size_t rows = 256, width = 200;
  unsigned char* image;
  unsigned *sums, *back;
  size_t pitch;
  CHECK(cudaMallocPitch(&image, &pitch, width, rows));
  CHECK(cudaMalloc(&sums, rows * sizeof(unsigned)));
  CHECK(cudaMallocHost(&back, rows * sizeof(unsigned)));
  CHECK(cudaMemset2D(image, pitch, 7, width, rows));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t clear, count;
  CHECK(cudaStreamCreateWithFlags(&clear, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&count, cudaStreamNonBlocking));
  hold(clear);
  CHECK(cudaMemset2DAsync(image + 168, pitch, 0, 32, rows, clear));
  row_sums<<<rows / 64, 64, 0, count>>>(image, (int)pitch, (int)width, sums);
  CHECK(cudaMemcpyAsync(back, sums, rows * sizeof(unsigned), cudaMemcpyDeviceToHost, count));
  CHECK(cudaStreamSynchronize(count));
  report(back, rows * sizeof(unsigned));
  CHECK(cudaStreamSynchronize(clear));
  return 0;
}
