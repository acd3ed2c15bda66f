// SPDX-License-Identifier: Apache-2.0
// Ordinary (blocking) streams around work in the legacy default stream, which
// waits for them and which they wait for.
#include "hold.h"

__global__ void fill(int* a, int v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = v + i;
}

__global__ void add(const int* a, const int* b, int* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void twice(const int* c, int* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d[i] = 2 * c[i];
}

int main() {
  const int n = 10000, blocks = (n + 255) / 256;
  int *a, *b, *c, *d;
  CHECK(cudaMalloc(&a, n * 4));
  CHECK(cudaMalloc(&b, n * 4));
  CHECK(cudaMalloc(&c, n * 4));
  CHECK(cudaMalloc(&d, n * 4));
  cudaStream_t s1, s2, s3;
  CHECK(cudaStreamCreate(&s1));
  CHECK(cudaStreamCreate(&s2));
  CHECK(cudaStreamCreate(&s3));

  hold(s1);
  fill<<<blocks, 256, 0, s1>>>(a, 1, n);
  fill<<<blocks, 256, 0, s2>>>(b, 2, n);
  add<<<blocks, 256>>>(a, b, c, n);
  twice<<<blocks, 256, 0, s3>>>(c, d, n);

  int* h = (int*)malloc(n * 4);
  CHECK(cudaMemcpyAsync(h, d, n * 4, cudaMemcpyDeviceToHost, s3));
  CHECK(cudaStreamSynchronize(s3));
  report(h, n * 4);
  free(h);
  return 0;
}
