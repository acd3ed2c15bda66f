// SPDX-License-Identifier: Apache-2.0
// A table of row pointers in device memory; two streams work on the rows of
// their half of the table.
#include "hold.h"

__global__ void scale_rows(int** rows, int first, int count, int width, int f) {
  for (int r = blockIdx.x; r < count; r += gridDim.x) {
    int* row = rows[first + r];
    for (int x = threadIdx.x; x < width; x += blockDim.x) row[x] = row[x] * f + r;
  }
}

int main() {
  const int rows = 16, width = 600;
  int* block;
  int* table[rows];
  int** d_table;
  CHECK(cudaMalloc(&block, rows * width * sizeof(int)));
  CHECK(cudaMemset(block, 1, rows * width * sizeof(int)));
  for (int r = 0; r < rows; r++) table[r] = block + r * width;
  CHECK(cudaMalloc(&d_table, sizeof table));
  CHECK(cudaMemcpy(d_table, table, sizeof table, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  scale_rows<<<8, 128, 0, s>>>(d_table, 0, rows / 2, width, 3);
  scale_rows<<<8, 128, 0, t>>>(d_table, rows / 2, rows / 2, width, 5);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  int* h = (int*)malloc(rows * width * sizeof(int));
  CHECK(cudaMemcpy(h, block, rows * width * sizeof(int), cudaMemcpyDeviceToHost));
  report(h, rows * width * sizeof(int));
  free(h);
  return 0;
}
