// SPDX-License-Identifier: Apache-2.0
// One graph allocates and fills, another one adds up what is there and frees it.
#include "hold.h"

__global__ void fill(int* a, const int* round, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i + *round;
}

__global__ void add(const int* a, int* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sums[i] += a[i];
}

__global__ void count(int* round) { *round += 100; }

int main() {
  const int n = 4096;
  int *a, *sums, *round, *h;
  CHECK(cudaMalloc(&sums, n * sizeof(int)));
  CHECK(cudaMalloc(&round, sizeof(int)));
  CHECK(cudaMemset(sums, 0, n * sizeof(int)));
  CHECK(cudaMemset(round, 0, sizeof(int)));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t filled, added;
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&added, cudaEventDisableTiming));

  cudaGraph_t first, second;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&a, n * sizeof(int), s));
  count<<<1, 1, 0, s>>>(round);
  fill<<<n / 256, 256, 0, s>>>(a, round, n);
  CHECK(cudaStreamEndCapture(s, &first));
  CHECK(cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal));
  hold(t);
  add<<<n / 256, 256, 0, t>>>(a, sums, n);
  CHECK(cudaFreeAsync(a, t));
  CHECK(cudaStreamEndCapture(t, &second));
  cudaGraphExec_t x, y;
  CHECK(cudaGraphInstantiate(&x, first, 0));
  CHECK(cudaGraphInstantiate(&y, second, 0));
  for (int i = 0; i < 3; i++) {
    CHECK(cudaGraphLaunch(x, s));
    CHECK(cudaEventRecord(filled, s));
    CHECK(cudaStreamWaitEvent(t, filled, 0));
    CHECK(cudaGraphLaunch(y, t));
    CHECK(cudaEventRecord(added, t));
    CHECK(cudaStreamWaitEvent(s, added, 0));
  }
  CHECK(cudaMemcpyAsync(h, sums, n * sizeof(int), cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  report(h, n * sizeof(int));
  return 0;
}
