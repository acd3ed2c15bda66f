// SPDX-License-Identifier: Apache-2.0
// y = A x with A in CSR: two streams take the rows of one half each; they read
// the same x and write different parts of y.
#include "hold.h"

struct Csr {
  const int *ptr, *col, *val;
};

__global__ void spmv(Csr a, const int* x, int* y, int first, int last) {
  int r = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= last) return;
  int s = 0;
  for (int k = a.ptr[r]; k < a.ptr[r + 1]; k++) s += a.val[k] * x[a.col[k]];
  y[r] = s;
}

static int* upload(const int* h, int n) {
  int* d;
  CHECK(cudaMalloc(&d, n * sizeof(int)));
  CHECK(cudaMemcpy(d, h, n * sizeof(int), cudaMemcpyHostToDevice));
  return d;
}

int main() {
  const int n = 3000, per = 5;
  int* ptr = (int*)malloc((n + 1) * sizeof(int));
  int* col = (int*)malloc(n * per * sizeof(int));
  int* val = (int*)malloc(n * per * sizeof(int));
  int* x = (int*)malloc(n * sizeof(int));
  for (int r = 0; r <= n; r++) ptr[r] = r * per;
  for (int k = 0; k < n * per; k++) {
    col[k] = (k * 7919) % n;
    val[k] = k % 9 - 4;
  }
  for (int i = 0; i < n; i++) x[i] = i % 50;
  Csr a = {upload(ptr, n + 1), upload(col, n * per), upload(val, n * per)};
  int *dx = upload(x, n), *dy;
  CHECK(cudaMalloc(&dy, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[2];
  for (int k = 0; k < 2; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
    if (k == 0) hold(s[k]);
    spmv<<<(n / 2 + 127) / 128, 128, 0, s[k]>>>(a, dx, dy, k * n / 2, (k + 1) * n / 2);
  }
  for (int k = 0; k < 2; k++) CHECK(cudaStreamSynchronize(s[k]));
  CHECK(cudaMemcpy(x, dy, n * sizeof(int), cudaMemcpyDeviceToHost));
  report(x, n * sizeof(int));
  return 0;
}
