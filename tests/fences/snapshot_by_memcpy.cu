// SPDX-License-Identifier: Apache-2.0
// Keeps a copy of the state before each step.
#include "hold.h"

__global__ void step(int* state, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) state[i] = state[i] * 3 + 1;
}

int main() {
  const int n = 1 << 15;
  const size_t bytes = n * sizeof(int);
  int *state, *before;
  CHECK(cudaMalloc(&state, bytes));
  CHECK(cudaMalloc(&before, bytes));
  CHECK(cudaMemset(state, 0, bytes));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));

  hold(cudaStreamLegacy);
  CHECK(cudaMemcpy(before, state, bytes, cudaMemcpyDeviceToDevice));
  step<<<n / 256, 256, 0, s>>>(state, n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());

  int* h = (int*)malloc(2 * bytes);
  CHECK(cudaMemcpy(h, before, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(h + n, state, bytes, cudaMemcpyDeviceToHost));
  report(h, 2 * bytes);
  free(h);
  return 0;
}
