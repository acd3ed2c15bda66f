// SPDX-License-Identifier: Apache-2.0
// An odd-even transposition sort, even passes in one stream, odd in another.
#include "hold.h"

#define N 512

__global__ void compare_swap(int* v, int first) {
  int i = first + 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 1 >= N) return;
  int a = v[i], b = v[i + 1];
  v[i] = a < b ? a : b;
  v[i + 1] = a < b ? b : a;
}

int main() {
  int h[N], *v;
  for (int i = 0; i < N; i++) h[i] = (N - i) * 3;
  CHECK(cudaMalloc(&v, sizeof h));
  CHECK(cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t even, odd;
  CHECK(cudaStreamCreateWithFlags(&even, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&odd, cudaStreamNonBlocking));
  cudaEvent_t odd_done, even_done;
  CHECK(cudaEventCreateWithFlags(&odd_done, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&even_done, cudaEventDisableTiming));
  for (int r = 0; r < 4; r++) {
    CHECK(cudaStreamWaitEvent(even, odd_done, 0));
    if (r == 1) hold(even);
    compare_swap<<<1, N / 2, 0, even>>>(v, 0);
    CHECK(cudaEventRecord(even_done, even));
    compare_swap<<<1, N / 2, 0, odd>>>(v, 1);
    CHECK(cudaEventRecord(odd_done, odd));
  }
  CHECK(cudaStreamSynchronize(odd));
  CHECK(cudaStreamSynchronize(even));
  CHECK(cudaMemcpy(h, v, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
