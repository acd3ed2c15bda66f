// SPDX-License-Identifier: Apache-2.0
// Squares the elements of a gradient in one stream and sums them in another.
#include "hold.h"

#define N (1 << 15)

__global__ void square(const int* g, int* sq) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) sq[i] = g[i] * g[i];
}

__global__ void sum_all(const int* sq, unsigned* total) {
  __shared__ unsigned part[256];
  unsigned s = 0;
  for (int i = threadIdx.x; i < N; i += 256) s += sq[i];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (threadIdx.x < w) part[threadIdx.x] += part[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) *total = part[0];
}

int main() {
  int *g, *sq;
  unsigned *total, answer = 0;
  CHECK(cudaMalloc(&g, N * sizeof(int)));
  CHECK(cudaMalloc(&sq, N * sizeof(int)));
  CHECK(cudaMalloc(&total, sizeof(unsigned)));
  int* h = (int*)malloc(N * sizeof(int));
  for (int i = 0; i < N; i++) h[i] = i & 63;
  CHECK(cudaMemcpy(g, h, N * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(sq, 0, N * sizeof(int)));
  CHECK(cudaDeviceSynchronize());

  cudaStream_t work, reduce;
  CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&reduce, cudaStreamNonBlocking));
  cudaEvent_t squared;
  CHECK(cudaEventCreate(&squared));

  CHECK(cudaEventRecord(squared, work));
  hold(work);
  square<<<N / 256, 256, 0, work>>>(g, sq);
  CHECK(cudaStreamWaitEvent(reduce, squared));
  sum_all<<<1, 256, 0, reduce>>>(sq, total);
  CHECK(cudaStreamSynchronize(reduce));
  CHECK(cudaMemcpyAsync(&answer, total, sizeof answer, cudaMemcpyDeviceToHost, reduce));
  CHECK(cudaStreamSynchronize(reduce));
  report(&answer, sizeof answer);
  CHECK(cudaDeviceSynchronize());
  free(h);
  return 0;
}
