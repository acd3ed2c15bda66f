// SPDX-License-Identifier: Apache-2.0
// A host function that a stream runs between two kernels; the second stream
// waits for an event after it.
#include "hold.h"

__global__ void iota(int* a, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = i;
}

__global__ void scale_by(int* a, const int* factor, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] *= *factor;
}

struct Job {
  int* sums;
  int n, factor;
};

static void CUDART_CB choose(void* arg) {
  Job* j = (Job*)arg;
  long s = 0;
  for (int i = 0; i < j->n; i++) s += j->sums[i];
  j->sums[0] = (int)(s % 17) + 2;
}

int main() {
  const int n = 3000;
  int *a, *f, *pinned;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&f, sizeof(int)));
  CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
  cudaStream_t s1, s2;
  CHECK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  cudaEvent_t chosen;
  CHECK(cudaEventCreate(&chosen));
  Job job = {pinned, n, 0};

  iota<<<1, 512, 0, s1>>>(a, n);
  CHECK(cudaMemcpyAsync(pinned, a, n * sizeof(int), cudaMemcpyDeviceToHost, s1));
  hold(s1);
  CHECK(cudaLaunchHostFunc(s1, choose, &job));
  CHECK(cudaEventRecord(chosen, s1));
  CHECK(cudaStreamWaitEvent(s2, chosen));
  CHECK(cudaMemcpyAsync(f, pinned, sizeof(int), cudaMemcpyHostToDevice, s2));
  scale_by<<<1, 512, 0, s2>>>(a, f, n);
  CHECK(cudaMemcpyAsync(pinned, a, n * sizeof(int), cudaMemcpyDeviceToHost, s2));
  CHECK(cudaStreamSynchronize(s2));
  report(pinned, n * sizeof(int));
  return 0;
}
