// SPDX-License-Identifier: Apache-2.0
// Gauss-Seidel with red and black points: each colour has a stream, and the
// two wait for one another in every sweep.
#include "hold.h"

#define N 258

__global__ void relax(float* u, int colour) {
  int x = 1 + threadIdx.x, y = 1 + blockIdx.x;
  if (((x + y) & 1) == colour) {
    u[y * N + x] = 0.25f * (u[y * N + x - 1] + u[y * N + x + 1] +
                            u[(y - 1) * N + x] + u[(y + 1) * N + x]);
  }
}

int main() {
  float *u, *h = (float*)malloc(N * N * sizeof(float));
  for (int i = 0; i < N * N; i++) h[i] = i % 7;
  CHECK(cudaMalloc(&u, N * N * sizeof(float)));
  CHECK(cudaMemcpy(u, h, N * N * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t red, black;
  CHECK(cudaStreamCreateWithFlags(&red, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&black, cudaStreamNonBlocking));
  cudaEvent_t red_done, black_done;
  CHECK(cudaEventCreateWithFlags(&red_done, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&black_done, cudaEventDisableTiming));
  for (int sweep = 0; sweep < 5; sweep++) {
    if (sweep == 2) hold(red);
    relax<<<N - 2, N - 2, 0, red>>>(u, 0);
    CHECK(cudaEventRecord(red_done, red));
    CHECK(cudaStreamWaitEvent(black, red_done, 0));
    relax<<<N - 2, N - 2, 0, black>>>(u, 1);
    CHECK(cudaEventRecord(black_done, black));
    CHECK(cudaStreamWaitEvent(red, black_done, 0));
  }
  CHECK(cudaStreamSynchronize(red));
  CHECK(cudaMemcpy(h, u, N * N * sizeof(float), cudaMemcpyDeviceToHost));
  report(h, N * N * sizeof(float));
  free(h);
  return 0;
}
