// SPDX-License-Identifier: Apache-2.0
// One upload, one event, two streams that read it: each of them waits.
#include "hold.h"

__global__ void square(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i];
}

__global__ void add_to(const int* in, int* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += in[i];
}

int main() {
  const int n = 20000, blocks = (n + 255) / 256;
  const size_t bytes = n * sizeof(int);
  int *host, *in, *out, *sums;
  CHECK(cudaMallocHost(&host, bytes));
  for (int i = 0; i < n; i++) host[i] = i % 100;
  CHECK(cudaMalloc(&in, bytes));
  CHECK(cudaMalloc(&out, bytes));
  CHECK(cudaMalloc(&sums, bytes));
  CHECK(cudaMemset(in, 0, bytes));
  CHECK(cudaMemset(out, 0, bytes));
  CHECK(cudaMemset(sums, 0, bytes));
  CHECK(cudaDeviceSynchronize());

  cudaStream_t copying, squaring, adding;
  cudaEvent_t uploaded;
  CHECK(cudaStreamCreateWithFlags(&copying, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&squaring, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&adding, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));

  hold(copying);
  CHECK(cudaMemcpyAsync(in, host, bytes, cudaMemcpyHostToDevice, copying));
  CHECK(cudaEventRecord(uploaded, copying));
  CHECK(cudaStreamWaitEvent(squaring, uploaded, 0));
  CHECK(cudaStreamWaitEvent(adding, uploaded, 0));
  square<<<blocks, 256, 0, squaring>>>(in, out, n);
  add_to<<<blocks, 256, 0, adding>>>(in, sums, n);
  CHECK(cudaDeviceSynchronize());

  int* h = (int*)malloc(2 * bytes);
  CHECK(cudaMemcpy(h, out, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(h + n, sums, bytes, cudaMemcpyDeviceToHost));
  report(h, 2 * bytes);
  free(h);
  return 0;
}
