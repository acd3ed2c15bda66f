// SPDX-License-Identifier: Apache-2.0
// Two graphs: the one writes a buffer, the other reads it.
#include "hold.h"

__global__ void writer(int* buffer, int n, int v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) buffer[i] = v * i;
}

__global__ void reader(const int* buffer, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = buffer[n - 1 - i] + 1;
}

static cudaGraphExec_t finish(cudaStream_t s) {
  cudaGraph_t g;
  cudaGraphExec_t x;
  CHECK(cudaStreamEndCapture(s, &g));
  CHECK(cudaGraphInstantiate(&x, g, 0));
  CHECK(cudaGraphDestroy(g));
  return x;
}

int main() {
  const int n = 1 << 14;
  int *buffer, *out;
  CHECK(cudaMalloc(&buffer, n * 4));
  CHECK(cudaMalloc(&out, n * 4));
  CHECK(cudaMemset(buffer, 0, n * 4));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  hold(s);
  writer<<<n / 256, 256, 0, s>>>(buffer, n, 3);
  cudaGraphExec_t write_graph = finish(s);
  CHECK(cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal));
  reader<<<n / 256, 256, 0, t>>>(buffer, out, n);
  cudaGraphExec_t read_graph = finish(t);

  CHECK(cudaGraphLaunch(write_graph, s));
  CHECK(cudaGraphLaunch(read_graph, t));
  CHECK(cudaStreamSynchronize(t));
  int* h = (int*)malloc(n * 4);
  CHECK(cudaMemcpyAsync(h, out, n * 4, cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  report(h, n * 4);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
