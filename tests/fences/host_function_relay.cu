// SPDX-License-Identifier: Apache-2.0
// Results go through a pinned buffer, which a host function changes in between.
#include "hold.h"

enum { N = 4096 };

__global__ void compute(int* a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) a[i] = i * 17 % 101;
}

static void CUDART_CB halve(void* arg) {
  int* values = (int*)arg;
  for (int i = 0; i < N; i++) values[i] /= 2;
}

int main() {
  int *a, *b, *relay, *h;
  CHECK(cudaMalloc(&a, N * sizeof(int)));
  CHECK(cudaMalloc(&b, N * sizeof(int)));
  CHECK(cudaMallocHost(&relay, N * sizeof(int)));
  CHECK(cudaMallocHost(&h, N * sizeof(int)));
  memset(relay, 0, N * sizeof(int));
  cudaStream_t from, to;
  CHECK(cudaStreamCreateWithFlags(&from, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&to, cudaStreamNonBlocking));
  cudaEvent_t computed;
  CHECK(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));
  compute<<<N / 256, 256, 0, from>>>(a);
  CHECK(cudaEventRecord(computed, from));
  hold(from);
  CHECK(cudaMemcpyAsync(relay, a, N * sizeof(int), cudaMemcpyDeviceToHost, from));
  CHECK(cudaLaunchHostFunc(from, halve, relay));
  CHECK(cudaStreamWaitEvent(to, computed, 0));
  CHECK(cudaMemcpyAsync(b, relay, N * sizeof(int), cudaMemcpyHostToDevice, to));
  CHECK(cudaMemcpyAsync(h, b, N * sizeof(int), cudaMemcpyDeviceToHost, to));
  CHECK(cudaStreamSynchronize(to));
  report(h, N * sizeof(int));
  CHECK(cudaStreamSynchronize(from));
  return 0;
}
