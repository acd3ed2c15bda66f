// SPDX-License-Identifier: Apache-2.0
// Two kernels in two streams share an array in managed memory.
#include "hold.h"

__global__ void produce(long* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = (long)i * i;
}

__global__ void consume(const long* v, long* w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] = v[i] - (i > 0 ? v[i - 1] : 0);
}

int main() {
  const int n = 1 << 12;
  long *v, *w;
  CHECK(cudaMallocManaged(&v, n * sizeof(long)));
  CHECK(cudaMallocManaged(&w, n * sizeof(long)));
  memset(v, 0, n * sizeof(long));
  memset(w, 0, n * sizeof(long));
  cudaStream_t one, two;
  CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  hold(one);
  produce<<<n / 128, 128, 0, one>>>(v, n);
  consume<<<n / 128, 128, 0, two>>>(v, w, n);
  CHECK(cudaStreamSynchronize(one));
  CHECK(cudaStreamSynchronize(two));
  report(w, n * sizeof(long));
  return 0;
}
