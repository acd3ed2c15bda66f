// SPDX-License-Identifier: Apache-2.0
// k-means in one dimension: two streams assign and add up half of the points
// each, the centres are made when both have.
#include "hold.h"

enum { POINTS = 8192, K = 8 };

__global__ void assign(const int* p, const int* centre, int* sum, int* num, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int best = 0;
  for (int c = 1; c < K; c++) {
    if (abs(p[i] - centre[c]) < abs(p[i] - centre[best])) best = c;
  }
  atomicAdd(&sum[best], p[i]);
  atomicAdd(&num[best], 1);
}

__global__ void centres(int* centre, int* sum, int* num) {
  int c = threadIdx.x;
  if (num[c]) centre[c] = sum[c] / num[c];
  sum[c] = 0;
  num[c] = 0;
}

int main() {
  int *p, *centre, *sum, *num, *h = (int*)malloc(POINTS * sizeof(int));
  for (int i = 0; i < POINTS; i++) h[i] = (i * 7919) % 10007;
  CHECK(cudaMalloc(&p, POINTS * sizeof(int)));
  CHECK(cudaMalloc(&centre, K * sizeof(int)));
  CHECK(cudaMalloc(&sum, K * sizeof(int)));
  CHECK(cudaMalloc(&num, K * sizeof(int)));
  CHECK(cudaMemcpy(p, h, POINTS * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(centre, h, K * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(sum, 0, K * sizeof(int)));
  CHECK(cudaMemset(num, 0, K * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t a, b;
  CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  cudaEvent_t b_done, new_centres;
  CHECK(cudaEventCreateWithFlags(&b_done, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&new_centres, cudaEventDisableTiming));
  const int half = POINTS / 2;
  for (int round = 0; round < 5; round++) {
    assign<<<half / 256, 256, 0, a>>>(p, centre, sum, num, half);
    if (round == 1) hold(b);
    assign<<<half / 256, 256, 0, b>>>(p + half, centre, sum, num, half);
    CHECK(cudaEventRecord(b_done, b));
    CHECK(cudaStreamWaitEvent(a, b_done, 0));
    centres<<<1, K, 0, a>>>(centre, sum, num);
    CHECK(cudaEventRecord(new_centres, a));
    CHECK(cudaStreamWaitEvent(b, new_centres, 0));
  }
  CHECK(cudaMemcpyAsync(h, centre, K * sizeof(int), cudaMemcpyDeviceToHost, a));
  CHECK(cudaStreamSynchronize(a));
  report(h, K * sizeof(int));
  return 0;
}
