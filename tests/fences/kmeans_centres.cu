// SPDX-License-Identifier: Apache-2.0
// k-means in one dimension, two rounds, the points in two streams.
#include "hold.h"

enum { POINTS = 4096, K = 4 };

__global__ void nearest(const int* p, const int* centre, unsigned char* label, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int best = 0;
  for (int c = 1; c < K; c++) {
    if (abs(p[i] - centre[c]) < abs(p[i] - centre[best])) best = c;
  }
  label[i] = best;
}

__global__ void recentre(const int* p, const unsigned char* label, int* centre, int n) {
  int c = blockIdx.x, s = 0, m = 0;
  for (int i = 0; i < n; i++) {
    if (label[i] == c) {
      s += p[i];
      m++;
    }
  }
  if (m) centre[c] = s / m;
}

int main() {
  int *p, *centre, *h = (int*)malloc(POINTS * sizeof(int));
  unsigned char* label;
  for (int i = 0; i < POINTS; i++) h[i] = (i * 7919) % 1009;
  CHECK(cudaMalloc(&p, POINTS * sizeof(int)));
  CHECK(cudaMalloc(&centre, K * sizeof(int)));
  CHECK(cudaMalloc(&label, POINTS));
  CHECK(cudaMemcpy(p, h, POINTS * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(centre, h, K * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t a, b;
  CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  cudaEvent_t labelled;
  CHECK(cudaEventCreateWithFlags(&labelled, cudaEventDisableTiming));
  const int half = POINTS / 2;
  nearest<<<half / 128, 128, 0, a>>>(p, centre, label, half);
  nearest<<<half / 128, 128, 0, b>>>(p + half, centre, label + half, half);
  CHECK(cudaEventRecord(labelled, b));
  CHECK(cudaStreamWaitEvent(a, labelled, 0));
  hold(a);
  recentre<<<K, 1, 0, a>>>(p, label, centre, half);
  nearest<<<half / 128, 128, 0, a>>>(p, centre, label, half);
  nearest<<<half / 128, 128, 0, b>>>(p + half, centre, label + half, half);
  CHECK(cudaMemcpyAsync(h, label + half, half, cudaMemcpyDeviceToHost, b));
  CHECK(cudaStreamSynchronize(b));
  report(h, half);
  CHECK(cudaStreamSynchronize(a));
  return 0;
}
