// SPDX-License-Identifier: Apache-2.0
// Three stages of a pipeline in three streams, chained by events.
#include "hold.h"

__global__ void stage(const int* in, int* out, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * k + 1;
}

struct Stage {
  cudaStream_t stream;
  cudaEvent_t done;
  int* out;
};

int main() {
  const int n = 1 << 14;
  const size_t bytes = n * sizeof(int);
  Stage st[3];
  int* src;
  CHECK(cudaMalloc(&src, bytes));
  CHECK(cudaMemset(src, 1, bytes));
  for (Stage& s : st) {
    CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&s.done, cudaEventDisableTiming));
    CHECK(cudaMalloc(&s.out, bytes));
    CHECK(cudaMemset(s.out, 0, bytes));
  }
  CHECK(cudaDeviceSynchronize());

  stage<<<n / 256, 256, 0, st[0].stream>>>(src, st[0].out, 3, n);
  CHECK(cudaEventRecord(st[0].done, st[0].stream));

  CHECK(cudaStreamWaitEvent(st[1].stream, st[0].done, 0));
  hold(st[1].stream);
  stage<<<n / 256, 256, 0, st[1].stream>>>(st[0].out, st[1].out, 5, n);
  CHECK(cudaEventRecord(st[1].done, st[1].stream));

  CHECK(cudaStreamWaitEvent(st[1].stream, st[1].done, 0));
  stage<<<n / 256, 256, 0, st[2].stream>>>(st[1].out, st[2].out, 7, n);

  int* h = (int*)malloc(bytes);
  CHECK(cudaMemcpyAsync(h, st[2].out, bytes, cudaMemcpyDeviceToHost, st[2].stream));
  CHECK(cudaStreamSynchronize(st[2].stream));
  report(h, bytes);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
