// SPDX-License-Identifier: Apache-2.0
// Two global arrays of the device, filled and used by two streams, and a third
// that is filled before both.
#include "hold.h"

#define N 2048
__device__ int base[N];
__device__ int doubled[N];
__device__ int mirrored[N];

__global__ void fill_base() {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) base[i] = i ^ 85;
}

__global__ void do_double() {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) doubled[i] = 2 * base[i];
}

__global__ void do_mirror() {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) mirrored[i] = base[N - 1 - i];
}

int main() {
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t filled;
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  hold(s);
  fill_base<<<N / 256, 256, 0, s>>>();
  CHECK(cudaEventRecord(filled, s));
  CHECK(cudaStreamWaitEvent(t, filled, 0));
  do_double<<<N / 256, 256, 0, s>>>();
  do_mirror<<<N / 256, 256, 0, t>>>();
  int h[2 * N];
  CHECK(cudaMemcpyFromSymbolAsync(h, doubled, sizeof doubled, 0, cudaMemcpyDeviceToHost, s));
  CHECK(cudaMemcpyFromSymbolAsync(h + N, mirrored, sizeof mirrored, 0,
                                  cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  report(h, sizeof h);
  return 0;
}
