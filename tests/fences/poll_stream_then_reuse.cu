// SPDX-License-Identifier: Apache-2.0
// A pool of two streams: a stream is given new work only when a query says that
// it is idle, and then it may use whatever it wrote, from any stream.
#include "hold.h"

__global__ void work_on(int* a, int n, int v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * 2 + v;
}

static bool idle(cudaStream_t s) {
  cudaError_t e = cudaStreamQuery(s);
  if (e == cudaErrorNotReady) return false;
  CHECK(e);
  return true;
}

int main() {
  const int n = 10000;
  int *a, *h = (int*)malloc(n * sizeof(int));
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMemset(a, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[2];
  CHECK(cudaStreamCreateWithFlags(&s[0], cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&s[1], cudaStreamNonBlocking));
  for (int step = 0; step < 6; step++) {
    cudaStream_t before = s[(step + 1) & 1], now = s[step & 1];
    while (!idle(before)) {
    }
    if (step == 3) hold(now);
    work_on<<<(n + 255) / 256, 256, 0, now>>>(a, n, step);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaStreamSynchronize(s[1]));
  CHECK(cudaMemcpy(h, a, n * sizeof(int), cudaMemcpyDeviceToHost));
  report(h, n * sizeof(int));
  free(h);
  return 0;
}
