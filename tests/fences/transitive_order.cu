// SPDX-License-Identifier: Apache-2.0
// Three streams: the last waits for the second only, which has waited for the
// first; and what the second records covers both.
#include "hold.h"
#include <functional>

__global__ void op(unsigned* dst, const unsigned* src, unsigned k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dst[i] = src[n - 1 - i] * k + 7;
}

int main() {
  const int n = 1 << 12;
  unsigned *a, *b, *c, *h;
  CHECK(cudaMalloc(&a, n * 4));
  CHECK(cudaMalloc(&b, n * 4));
  CHECK(cudaMalloc(&c, n * 4));
  CHECK(cudaMallocHost(&h, n * 4));
  CHECK(cudaMemset(a, 3, n * 4));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s1, s2, s3;
  for (cudaStream_t* s : {&s1, &s2, &s3}) {
    CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  }
  std::function<void(cudaStream_t, cudaStream_t)> order = [](cudaStream_t from, cudaStream_t to) {
    cudaEvent_t e;
    CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    CHECK(cudaEventRecord(e, from));
    CHECK(cudaStreamWaitEvent(to, e, 0));
    CHECK(cudaEventDestroy(e));
  };
  hold(s1);
  op<<<n / 256, 256, 0, s1>>>(b, a, 5, n);
  order(s1, s2);
  CHECK(cudaMemsetAsync(a, 9, n * 4, s2));
  order(s2, s3);
  op<<<n / 256, 256, 0, s3>>>(c, b, 3, n);
  op<<<n / 256, 256, 0, s3>>>(b, a, 11, n);
  CHECK(cudaMemcpyAsync(h, c, n * 4, cudaMemcpyDeviceToHost, s3));
  CHECK(cudaStreamSynchronize(s3));
  report(h, n * 4);
  return 0;
}
