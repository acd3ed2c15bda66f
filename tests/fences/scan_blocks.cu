// SPDX-License-Identifier: Apache-2.0
// A prefix sum of many blocks: blocks, the sums of the blocks, the addition of
// them; the middle pass is in a second stream between two events.
#include "hold.h"

#define B 256

__global__ void scan_block(const int* in, int* out, int* sums, int n) {
  __shared__ int s[B];
  int i = blockIdx.x * B + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int d = 1; d < B; d *= 2) {
    int v = (int)threadIdx.x >= d ? s[threadIdx.x - d] : 0;
    __syncthreads();
    s[threadIdx.x] += v;
    __syncthreads();
  }
  if (i < n) out[i] = s[threadIdx.x];
  if (sums && threadIdx.x == B - 1) sums[blockIdx.x] = s[threadIdx.x];
}

__global__ void add_sums(int* out, const int* scanned, int n) {
  int i = blockIdx.x * B + threadIdx.x;
  if (i < n && blockIdx.x > 0) out[i] += scanned[blockIdx.x - 1];
}

int main() {
  const int n = 50000, blocks = (n + B - 1) / B;
  int *in, *out, *sums, *scanned, *h = (int*)malloc(n * sizeof(int));
  CHECK(cudaMalloc(&in, n * sizeof(int)));
  CHECK(cudaMalloc(&out, n * sizeof(int)));
  CHECK(cudaMalloc(&sums, blocks * sizeof(int)));
  CHECK(cudaMalloc(&scanned, blocks * sizeof(int)));
  for (int i = 0; i < n; i++) h[i] = i % 10;
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t e1, e2;
  CHECK(cudaEventCreateWithFlags(&e1, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&e2, cudaEventDisableTiming));
  CHECK(cudaMemcpyAsync(in, h, n * sizeof(int), cudaMemcpyHostToDevice, s));
  scan_block<<<blocks, B, 0, s>>>(in, out, sums, n);
  CHECK(cudaEventRecord(e1, s));
  CHECK(cudaStreamWaitEvent(t, e1, 0));
  hold(t);
  scan_block<<<1, B, 0, t>>>(sums, scanned, NULL, blocks);
  CHECK(cudaEventRecord(e2, t));
  CHECK(cudaStreamWaitEvent(s, e2, 0));
  add_sums<<<blocks, B, 0, s>>>(out, scanned, n);
  CHECK(cudaMemcpyAsync(h, out, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, n * sizeof(int));
  free(h);
  return 0;
}
