// SPDX-License-Identifier: Apache-2.0
// Threads append to a queue with an atomic counter; its length goes back to
// the host.
#include "hold.h"

__global__ void append(const int* in, int n, int* queue, int* length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 3 == 0) queue[atomicAdd(length, 1)] = i;
}

int main() {
  const int n = 9000;
  int *in, *queue, *length, *h;
  CHECK(cudaMalloc(&in, n * sizeof(int)));
  CHECK(cudaMalloc(&queue, n * sizeof(int)));
  CHECK(cudaMalloc(&length, sizeof(int)));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  for (int i = 0; i < n; i++) h[i] = i * 17;
  CHECK(cudaMemcpy(in, h, n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(length, 0, sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t work, back;
  CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&back, cudaStreamNonBlocking));
  hold(work);
  append<<<(n + 255) / 256, 256, 0, work>>>(in, n, queue, length);
  CHECK(cudaMemcpyAsync(h, length, sizeof(int), cudaMemcpyDeviceToHost, back));
  CHECK(cudaStreamSynchronize(back));
  report(h, sizeof(int));
  CHECK(cudaStreamSynchronize(work));
  return 0;
}
