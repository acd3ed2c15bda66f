// SPDX-License-Identifier: Apache-2.0
// Two streams fill two blocks of columns of a pitched array with 2D copies.
#include "hold.h"

typedef struct {
  size_t x, width;
} Columns;

__attribute__((noinline)) static void put(unsigned char* d, size_t pitch, Columns c,
                                          const unsigned char* src, size_t rows, cudaStream_t s) {
  unsigned char* to = d + c.x;
  CHECK(cudaMemcpy2DAsync(to, pitch, src, c.width, c.width, rows, cudaMemcpyHostToDevice, s));
}

int main() {
  const size_t rows = 100, width = 256;
  Columns ca = {0, 144}, cb = {128, 128};
  unsigned char *ha, *hb, *back, *d;
  CHECK(cudaMallocHost(&ha, rows * ca.width));
  CHECK(cudaMallocHost(&hb, rows * cb.width));
  CHECK(cudaMallocHost(&back, rows * width));
  memset(ha, 0xaa, rows * ca.width);
  memset(hb, 0xbb, rows * cb.width);
  size_t pitch;
  CHECK(cudaMallocPitch(&d, &pitch, width, rows));
  cudaStream_t a, b;
  CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  hold(a);
  put(d, pitch, ca, ha, rows, a);
  CHECK(cudaMemcpy2DAsync(d + cb.x, pitch, hb, cb.width, cb.width, rows, cudaMemcpyDefault, b));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy2D(back, width, d, pitch, width, rows, cudaMemcpyDeviceToHost));
  report(back, rows * width);
  return 0;
}
