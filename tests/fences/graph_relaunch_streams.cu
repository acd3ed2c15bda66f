// SPDX-License-Identifier: Apache-2.0
// One executable graph launched in two streams in turn: a launch waits for the
// one of the same graph before it, whatever its stream.
#include "hold.h"

__global__ void advance(unsigned* state, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) state[i] = state[i] * 1664525u + 1013904223u;
}

__global__ void rotate(const unsigned* state, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = out[(i + 0) % n] * 3 + state[(i + 1) % n];
}

int main() {
  const int n = 1 << 12;
  unsigned *state, *out;
  CHECK(cudaMalloc(&state, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&out, n * sizeof(unsigned)));
  CHECK(cudaMemset(state, 1, n * sizeof(unsigned)));
  CHECK(cudaMemset(out, 0, n * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[2];
  for (int i = 0; i < 2; i++) CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
  cudaGraph_t g;
  CHECK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal));
  advance<<<n / 256, 256, 0, s[0]>>>(state, n);
  hold(s[0]);
  rotate<<<n / 256, 256, 0, s[0]>>>(state, out, n);
  CHECK(cudaStreamEndCapture(s[0], &g));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  for (int i = 0; i < 6; i++) CHECK(cudaGraphLaunch(x, s[i & 1]));
  CHECK(cudaStreamSynchronize(s[0]));
  CHECK(cudaStreamSynchronize(s[1]));
  unsigned* h = (unsigned*)malloc(n * sizeof(unsigned));
  CHECK(cudaMemcpy(h, out, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
  report(h, n * sizeof(unsigned));
  return 0;
}
