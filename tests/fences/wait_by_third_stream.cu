// SPDX-License-Identifier: Apache-2.0
// An event after the upload; its wait is given to the stream that computes something else.
#include "hold.h"

__global__ void square(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i];
}

__global__ void count_up(int* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += i;
}

int main() {
  const int n = 20000, blocks = (n + 255) / 256;
  const size_t bytes = n * sizeof(int);
  int *host, *in, *out, *other;
  CHECK(cudaMallocHost(&host, bytes));
  for (int i = 0; i < n; i++) host[i] = i % 100;
  CHECK(cudaMalloc(&in, bytes));
  CHECK(cudaMalloc(&out, bytes));
  CHECK(cudaMalloc(&other, bytes));
  CHECK(cudaMemset(in, 0, bytes));
  CHECK(cudaMemset(out, 0, bytes));
  CHECK(cudaMemset(other, 0, bytes));
  CHECK(cudaDeviceSynchronize());

  cudaStream_t copying, squaring, counting;
  cudaEvent_t uploaded;
  CHECK(cudaStreamCreateWithFlags(&copying, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&squaring, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&counting, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));

  hold(copying);
  CHECK(cudaMemcpyAsync(in, host, bytes, cudaMemcpyHostToDevice, copying));
  CHECK(cudaEventRecord(uploaded, copying));
  CHECK(cudaStreamWaitEvent(counting, uploaded, 0));
  square<<<blocks, 256, 0, squaring>>>(in, out, n);
  count_up<<<blocks, 256, 0, counting>>>(other, n);
  CHECK(cudaDeviceSynchronize());

  int* h = (int*)malloc(bytes);
  CHECK(cudaMemcpy(h, out, bytes, cudaMemcpyDeviceToHost));
  report(h, bytes);
  free(h);
  return 0;
}
