// SPDX-License-Identifier: Apache-2.0
// Two products with one sparse matrix one after the other, the rows in halves.
#include "hold.h"

__global__ void ell_product(const int* col, const int* val, int width, const int* x, int* y,
                            int first, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  int r = first + i, s = 0;
  for (int k = 0; k < width; k++) s += val[r * width + k] * x[col[r * width + k]];
  y[r] = s;
}

int main() {
  const int n = 2048, width = 4, half = n / 2;
  static int hc[n * width], hv[n * width], hx[n];
  for (int k = 0; k < n * width; k++) {
    hc[k] = (k * 13 + 5) % n;
    hv[k] = k % 5 + 1;
  }
  for (int i = 0; i < n; i++) hx[i] = i % 3 + 1;
  int *col, *val, *x, *y, *z;
  CHECK(cudaMalloc(&col, sizeof hc));
  CHECK(cudaMalloc(&val, sizeof hv));
  CHECK(cudaMalloc(&x, sizeof hx));
  CHECK(cudaMalloc(&y, sizeof hx));
  CHECK(cudaMalloc(&z, sizeof hx));
  CHECK(cudaMemcpy(col, hc, sizeof hc, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(val, hv, sizeof hv, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(x, hx, sizeof hx, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(y, 0, sizeof hx));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  ell_product<<<half / 256, 256, 0, s>>>(col, val, width, x, y, 0, half);
  hold(t);
  ell_product<<<half / 256, 256, 0, t>>>(col, val, width, x, y, half, half);
  ell_product<<<half / 256, 256, 0, s>>>(col, val, width, y, z, 0, half);
  CHECK(cudaMemcpyAsync(hx, z, half * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(hx, half * sizeof(int));
  CHECK(cudaStreamSynchronize(t));
  return 0;
}
