// SPDX-License-Identifier: Apache-2.0
// Two streams count into the same bins with atomics; their order is of no
// matter.
#include "hold.h"

__global__ void count(const unsigned char* v, int n, unsigned* bins) {
  __shared__ unsigned local[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[v[i]], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

int main() {
  const int n = 1 << 16;
  unsigned char *h, *v;
  unsigned *bins, out[256];
  CHECK(cudaMallocHost(&h, n));
  for (int i = 0; i < n; i++) h[i] = (unsigned char)(i * i >> 5);
  CHECK(cudaMalloc(&v, n));
  CHECK(cudaMalloc(&bins, sizeof out));
  CHECK(cudaMemset(bins, 0, sizeof out));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[2];
  for (int k = 0; k < 2; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
    int off = k * n / 2;
    CHECK(cudaMemcpyAsync(v + off, h + off, n / 2, cudaMemcpyHostToDevice, s[k]));
    if (k == 0) hold(s[k]);
    count<<<16, 128, 0, s[k]>>>(v + off, n / 2, bins);
  }
  for (int k = 0; k < 2; k++) CHECK(cudaStreamSynchronize(s[k]));
  CHECK(cudaMemcpy(out, bins, sizeof out, cudaMemcpyDeviceToHost));
  report(out, sizeof out);
  return 0;
}
