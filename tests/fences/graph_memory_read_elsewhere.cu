// SPDX-License-Identifier: Apache-2.0
// A graph allocates its result, which outlives it; another stream reads it.
#include "hold.h"

__global__ void produce(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 3 * i + 1;
}

__global__ void consume(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] / 2;
}

int main() {
  const int n = 20000, blocks = (n + 255) / 256;
  const size_t bytes = n * sizeof(int);
  int *a, *b, *h;
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMallocHost(&h, bytes));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t allocated;
  CHECK(cudaEventCreateWithFlags(&allocated, cudaEventDisableTiming));

  cudaGraph_t g;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&a, bytes, s));
  CHECK(cudaMemsetAsync(a, 0, bytes, s));
  CHECK(cudaStreamEndCapture(s, &g));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  CHECK(cudaGraphLaunch(x, s));
  CHECK(cudaEventRecord(allocated, s));
  CHECK(cudaStreamWaitEvent(t, allocated, 0));

  hold(s);
  produce<<<blocks, 256, 0, s>>>(a, n);
  consume<<<blocks, 256, 0, t>>>(a, b, n);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeAsync(a, s));
  CHECK(cudaMemcpy(h, b, bytes, cudaMemcpyDeviceToHost));
  report(h, bytes);
  return 0;
}
