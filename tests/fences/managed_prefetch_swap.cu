// SPDX-License-Identifier: Apache-2.0
// Managed memory is read by one kernel, prefetched and filled again for the next one.
#include "hold.h"

__global__ void gather(const int* a, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[n - 1 - i] + 1;
}

__global__ void refill(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = -i;
}

int main() {
  const int n = 1 << 14;
  int *a, *out;
  CHECK(cudaMallocManaged(&a, n * sizeof(int)));
  CHECK(cudaMallocManaged(&out, n * sizeof(int)));
  for (int i = 0; i < n; i++) a[i] = i;
  cudaStream_t read, write;
  CHECK(cudaStreamCreateWithFlags(&read, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&write, cudaStreamNonBlocking));
  cudaMemLocation device = {};
  device.type = cudaMemLocationTypeDevice;
  CHECK(cudaMemPrefetchAsync(a, n * sizeof(int), device, 0, read));
  hold(read);
  gather<<<n / 256, 256, 0, read>>>(a, out, n);
  CHECK(cudaMemPrefetchAsync(a, n * sizeof(int), device, 0, write));
  refill<<<n / 256, 256, 0, write>>>(a, n);
  CHECK(cudaStreamSynchronize(write));
  CHECK(cudaStreamSynchronize(read));
  report(out, n * sizeof(int));
  return 0;
}
