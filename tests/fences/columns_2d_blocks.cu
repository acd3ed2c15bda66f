// SPDX-License-Identifier: Apache-2.0
// Two streams fill the left and the right block of columns of a pitched array
// with 2D copies; each row of the one touches the rows of the other, no byte.
#include "hold.h"

int main() {
  const size_t rows = 128, left = 96, right = 160;
  unsigned char *hl, *hr, *back;
  CHECK(cudaMallocHost(&hl, rows * left));
  CHECK(cudaMallocHost(&hr, rows * right));
  CHECK(cudaMallocHost(&back, rows * (left + right)));
  for (size_t i = 0; i < rows * left; i++) hl[i] = (unsigned char)i;
  for (size_t i = 0; i < rows * right; i++) hr[i] = (unsigned char)(i * 3);
  unsigned char* d;
  size_t pitch;
  CHECK(cudaMallocPitch(&d, &pitch, left + right, rows));
  CHECK(cudaMemset2D(d, pitch, 0, left + right, rows));
  CHECK(cudaDeviceSynchronize());

  cudaStream_t a, b;
  CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  hold(a);
  CHECK(cudaMemcpy2DAsync(d, pitch, hl, left, left, rows, cudaMemcpyHostToDevice, a));
  CHECK(cudaMemcpy2DAsync(d + left, pitch, hr, right, right, rows, cudaMemcpyHostToDevice, b));
  CHECK(cudaMemset2DAsync(d + left, pitch, 0x55, 32, rows / 2, b));
  CHECK(cudaStreamSynchronize(a));
  CHECK(cudaStreamSynchronize(b));
  CHECK(cudaMemcpy2D(back, left + right, d, pitch, left + right, rows, cudaMemcpyDeviceToHost));
  report(back, rows * (left + right));
  return 0;
}
