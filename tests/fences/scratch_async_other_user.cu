// SPDX-License-Identifier: Apache-2.0
// Two allocations one after the other in a stream; the second is filled by
// another stream.
#include "hold.h"

__global__ void copy_out(const int* p, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = p[i];
}

__global__ void fill(int* p, int v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = v;
}

int main() {
  const int n = 1 << 16;
  const size_t bytes = n * sizeof(int);
  int *out, *one, *two;
  CHECK(cudaMalloc(&out, bytes));
  cudaStream_t main_stream, side;
  CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));

  CHECK(cudaMallocAsync(&one, bytes, main_stream));
  fill<<<n / 256, 256, 0, main_stream>>>(one, 11, n);
  hold(main_stream);
  copy_out<<<n / 256, 256, 0, main_stream>>>(one, out, n);
  CHECK(cudaFreeAsync(one, main_stream));
  CHECK(cudaMallocAsync(&two, bytes, main_stream));
  fill<<<n / 256, 256, 0, side>>>(two, 22, n);
  CHECK(cudaStreamSynchronize(side));
  CHECK(cudaStreamSynchronize(main_stream));
  CHECK(cudaFreeAsync(two, side));

  int* h = (int*)malloc(bytes);
  CHECK(cudaMemcpy(h, out, bytes, cudaMemcpyDeviceToHost));
  report(h, bytes);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
