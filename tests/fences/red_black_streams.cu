// SPDX-License-Identifier: Apache-2.0
// Gauss-Seidel with red and black points: each colour has a stream.
#include "hold.h"

#define N 130

__global__ void relax(int* u, int colour) {
  int x = 1 + threadIdx.x, y = 1 + blockIdx.x;
  if (((x + y) & 1) == colour) {
    u[y * N + x] = u[y * N + x - 1] + u[y * N + x + 1] + u[(y - 1) * N + x] + u[(y + 1) * N + x];
  }
}

int main() {
  static int h[N * N];
  for (int i = 0; i < N * N; i++) h[i] = i % 5;
  int* u;
  CHECK(cudaMalloc(&u, sizeof h));
  CHECK(cudaMemcpy(u, h, sizeof h, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t red, black;
  CHECK(cudaStreamCreateWithFlags(&red, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&black, cudaStreamNonBlocking));
  hold(red);
  relax<<<N - 2, N - 2, 0, red>>>(u, 0);
  relax<<<N - 2, N - 2, 0, black>>>(u, 1);
  CHECK(cudaStreamSynchronize(red));
  CHECK(cudaStreamSynchronize(black));
  CHECK(cudaMemcpy(h, u, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
