// SPDX-License-Identifier: Apache-2.0
// Two streams write two blocks of columns; the threads of a block go over the
// columns in a loop, of which the last round is not for all of them.
#include "hold.h"

__global__ void write_rows(int* a, int rows, int cols, int pitch, int v) {
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    for (int c = threadIdx.x; c < cols; c += blockDim.x) a[r * pitch + c] = v + c;
  }
}

int main() {
  const int rows = 90, pitch = 100, cols = 50;
  static int h[90 * 100];
  int* a;
  CHECK(cudaMalloc(&a, sizeof h));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  write_rows<<<8, 32, 0, s>>>(a, rows, cols, pitch, 100);
  write_rows<<<8, 32, 0, t>>>(a + cols, rows, cols, pitch, 900);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
