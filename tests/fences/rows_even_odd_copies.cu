// SPDX-License-Identifier: Apache-2.0
// Two streams fill the even and the odd rows of one array with 2D copies of
// twice the pitch.
#include "hold.h"

int main() {
  const size_t width = 192, rows = 64;
  unsigned char *even, *odd, *back, *d;
  CHECK(cudaMallocHost(&even, width * rows / 2));
  CHECK(cudaMallocHost(&odd, width * rows / 2));
  CHECK(cudaMallocHost(&back, width * rows));
  for (size_t i = 0; i < width * rows / 2; i++) {
    even[i] = (unsigned char)(i * 11);
    odd[i] = (unsigned char)(i * 13 + 1);
  }
  CHECK(cudaMalloc(&d, width * rows));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  const size_t half = rows / 2;
  hold(s);
  CHECK(cudaMemcpy2DAsync(d, 2 * width, even, width, width, half, cudaMemcpyHostToDevice, s));
  CHECK(cudaMemcpy2DAsync(d + width, 2 * width, odd, width, width, half,
                          cudaMemcpyHostToDevice, t));
  CHECK(cudaMemcpy2DAsync(back, 2 * width, d, 2 * width, width, half, cudaMemcpyDefault, s));
  CHECK(cudaMemcpy2DAsync(back + width, 2 * width, d + width, 2 * width, width, half,
                          cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  report(back, width * rows);
  return 0;
}
