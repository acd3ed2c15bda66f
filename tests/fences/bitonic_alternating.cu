// SPDX-License-Identifier: Apache-2.0
// A bitonic sort whose passes go to two streams in turn, each pass after an
// event of the pass before.
#include "hold.h"

__global__ void pass(unsigned* v, int j, int k) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, p = i ^ j;
  if (p <= i) return;
  bool up = (i & k) == 0;
  unsigned a = v[i], b = v[p];
  if ((a > b) == up) {
    v[i] = b;
    v[p] = a;
  }
}

int main() {
  const int n = 1024;
  unsigned h[n], *v;
  for (int i = 0; i < n; i++) h[i] = (i * 2654435761u) >> 7;
  CHECK(cudaMalloc(&v, sizeof h));
  CHECK(cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[2];
  cudaEvent_t e[2];
  for (int i = 0; i < 2; i++) {
    CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&e[i], cudaEventDisableTiming));
  }
  int turn = 0;
  for (int k = 2; k <= n; k *= 2) {
    for (int j = k / 2; j > 0; j /= 2, turn ^= 1) {
      CHECK(cudaStreamWaitEvent(s[turn], e[turn ^ 1], 0));
      if (k == 16) hold(s[turn]);
      pass<<<n / 256, 256, 0, s[turn]>>>(v, j, k);
      CHECK(cudaEventRecord(e[turn], s[turn]));
    }
  }
  CHECK(cudaStreamSynchronize(s[turn ^ 1]));
  CHECK(cudaMemcpy(h, v, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
