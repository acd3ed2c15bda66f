// SPDX-License-Identifier: Apache-2.0
// The result of a graph lies in memory that the graph allocates. It is freed after each launch,
// and the next launch has the same address again.
#include "hold.h"

__global__ void produce(int* a, int n, const int* seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i ^ *seed;
}

__global__ void next(int* seed) { *seed += 1000; }

__global__ void consume(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] += a[i];
}

int main() {
  const int n = 20000, blocks = (n + 255) / 256;
  const size_t bytes = n * sizeof(int);
  int *a, *b, *h, *seed;
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMalloc(&seed, sizeof(int)));
  CHECK(cudaMemset(b, 0, bytes));
  CHECK(cudaMemset(seed, 0, sizeof(int)));
  CHECK(cudaMallocHost(&h, bytes));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t made, used;
  CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
  CHECK(cudaDeviceSynchronize());

  cudaGraph_t g;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&a, bytes, s));
  next<<<1, 1, 0, s>>>(seed);
  produce<<<blocks, 256, 0, s>>>(a, n, seed);
  CHECK(cudaStreamEndCapture(s, &g));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  for (int i = 0; i < 3; i++) {
    CHECK(cudaGraphLaunch(x, s));
    CHECK(cudaEventRecord(made, s));
    CHECK(cudaStreamWaitEvent(t, made, 0));
    hold(t);
    consume<<<blocks, 256, 0, t>>>(a, b, n);
#ifdef ORDERED
    CHECK(cudaEventRecord(used, t));
    CHECK(cudaStreamWaitEvent(s, used, 0));
#endif
    CHECK(cudaFreeAsync(a, s));
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h, b, bytes, cudaMemcpyDeviceToHost));
  report(h, bytes);
  return 0;
}
