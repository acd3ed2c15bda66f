// SPDX-License-Identifier: Apache-2.0
// Each thread works in its own stream and waits for it before it ends; the
// main thread joins them and goes on in its own stream.
#include "hold.h"
#include <thread>

__global__ void seq(int* a, int n, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = first + i;
}

__global__ void prefix_of_parts(const int* a, int* out, int parts, int n) {
  int k = threadIdx.x;
  if (k >= parts) return;
  int s = 0;
  for (int i = 0; i < n; i++) s += a[k * n + i];
  out[k] = s;
}

static void worker(int* slice, int n, int k) {
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  if (k == 1) hold(s);
  seq<<<(n + 127) / 128, 128, 0, s>>>(slice, n, k * 10);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamDestroy(s));
}

int main() {
  const int parts = 3, n = 500;
  int *a, *out, h[parts];
  CHECK(cudaMalloc(&a, parts * n * sizeof(int)));
  CHECK(cudaMalloc(&out, sizeof h));
  std::thread t[parts];
  for (int k = 0; k < parts; k++) t[k] = std::thread(worker, a + k * n, n, k);
  for (int k = 0; k < parts; k++) t[k].join();
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  prefix_of_parts<<<1, 32, 0, s>>>(a, out, parts, n);
  CHECK(cudaMemcpyAsync(h, out, sizeof h, cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, sizeof h);
  return 0;
}
