// SPDX-License-Identifier: Apache-2.0
// Relays a result through a pinned buffer from one device array to another.
#include "hold.h"

__global__ void tri(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i * (i + 1) / 2;
}

static void CUDART_CB note(void* arg) { ++*(int*)arg; }

int main() {
  const int n = 6000;
  int *a, *b, *relay, *result, notes = 0;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMallocHost(&relay, n * sizeof(int)));
  CHECK(cudaMallocHost(&result, n * sizeof(int)));
  memset(relay, 0, n * sizeof(int));
  cudaStream_t down, up;
  CHECK(cudaStreamCreateWithFlags(&down, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));

  tri<<<(n + 255) / 256, 256, 0, down>>>(a, n);
  hold(down);
  CHECK(cudaMemcpyAsync(relay, a, n * sizeof(int), cudaMemcpyDeviceToHost, down));
  CHECK(cudaLaunchHostFunc(down, note, &notes));
  CHECK(cudaMemcpyAsync(b, relay, n * sizeof(int), cudaMemcpyHostToDevice, up));
  CHECK(cudaMemcpyAsync(result, b, n * sizeof(int), cudaMemcpyDeviceToHost, up));
  CHECK(cudaStreamSynchronize(up));
  report(result, n * sizeof(int));
  CHECK(cudaDeviceSynchronize());
  return notes == 1 ? 0 : 1;
}
