// SPDX-License-Identifier: Apache-2.0
// Two batches in one array, each sorted by one block in its own stream.
#include "hold.h"

__global__ void sort_block(int* v, int n) {
  int i = threadIdx.x;
  for (int k = 2; k <= n; k <<= 1) {
    for (int j = k >> 1; j > 0; j >>= 1) {
      int p = i ^ j;
      if (p > i) {
        int a = v[i], b = v[p];
        if ((a > b) == ((i & k) == 0)) {
          v[i] = b;
          v[p] = a;
        }
      }
      __syncthreads();
    }
  }
}

int main() {
  const int n = 256;
  int h[2 * n], *v;
  for (int i = 0; i < 2 * n; i++) h[i] = (i * 7919) % 1021;
  CHECK(cudaMalloc(&v, sizeof h));
  CHECK(cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  sort_block<<<1, n, 0, s>>>(v, n);
  sort_block<<<1, n, 0, t>>>(v + n, n);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(h, v, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
