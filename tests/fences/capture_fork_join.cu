// SPDX-License-Identifier: Apache-2.0
// A graph by capture: two branches after a common start, joined by events.
#include "hold.h"

__global__ void start(int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += i;
}

__global__ void left(const int* x, int* l, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) l[i] = x[i] * 2;
}

__global__ void right(const int* x, int* r, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) r[i] = x[n - 1 - i];
}

__global__ void join(const int* l, const int* r, int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = l[i] - r[i];
}

int main() {
  const int n = 1 << 12;
  int *x, *l, *r, h[1 << 12];
  CHECK(cudaMalloc(&x, sizeof h));
  CHECK(cudaMalloc(&l, sizeof h));
  CHECK(cudaMalloc(&r, sizeof h));
  CHECK(cudaMemset(x, 0, sizeof h));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t a, b;
  CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  cudaEvent_t fork, joined;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  start<<<n / 256, 256, 0, a>>>(x, n);
  CHECK(cudaEventRecord(fork, a));
  CHECK(cudaStreamWaitEvent(b, fork, 0));
  left<<<n / 256, 256, 0, a>>>(x, l, n);
  hold(b);
  right<<<n / 256, 256, 0, b>>>(x, r, n);
  CHECK(cudaEventRecord(joined, b));
  CHECK(cudaStreamWaitEvent(a, joined, 0));
  join<<<n / 256, 256, 0, a>>>(l, r, x, n);
  CHECK(cudaStreamEndCapture(a, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(exec, a));
  CHECK(cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDeviceToHost, a));
  CHECK(cudaStreamSynchronize(a));
  report(h, sizeof h);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  return 0;
}
