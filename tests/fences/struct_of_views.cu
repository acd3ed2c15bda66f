// SPDX-License-Identifier: Apache-2.0
// Kernels that take a struct of pointers by value; views of three vectors.
#include "hold.h"

template <typename T>
struct View {
  T* __restrict__ out;
  const T* __restrict__ x;
  const T* __restrict__ y;
  int n;
};

template <typename T>
__global__ void add(View<T> v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < v.n) v.out[i] = v.x[i] + v.y[i];
}

int main() {
  const int n = 1 << 13;
  unsigned* vec[5];
  for (int k = 0; k < 5; k++) {
    CHECK(cudaMalloc(&vec[k], n * sizeof(unsigned)));
    CHECK(cudaMemset(vec[k], 2 * k + 1, n * sizeof(unsigned)));
  }
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  View<unsigned> one = {vec[2], vec[0], vec[1], n};
  View<unsigned> two = {vec[4], vec[3], vec[2], n};
  hold(s);
  add<<<n / 256, 256, 0, s>>>(one);
  add<<<n / 256, 256, 0, t>>>(two);
  unsigned* h = (unsigned*)malloc(n * sizeof(unsigned));
  CHECK(cudaMemcpyAsync(h, vec[4], n * sizeof(unsigned), cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  report(h, n * sizeof(unsigned));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
