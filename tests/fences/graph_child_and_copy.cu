// SPDX-License-Identifier: Apache-2.0
// A graph with a child graph and a copy.
#include "hold.h"

__global__ void spiral(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i & 1 ? i : -i;
}

__attribute__((noinline)) static cudaGraph_t make_child(int* a, int n, cudaStream_t s) {
  cudaGraph_t g;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  hold(s);
  spiral<<<n / 128, 128, 0, s>>>(a, n);
  CHECK(cudaStreamEndCapture(s, &g));
  return g;
}

int main() {
  const int n = 4096;
  const size_t bytes = n * sizeof(int);
  int *a, *b, *h;
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMallocHost(&h, bytes));
  CHECK(cudaMemset(a, 0, bytes));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  cudaGraph_t child = make_child(a, n, s), g;
  CHECK(cudaGraphCreate(&g, 0));
  cudaGraphNode_t inner, copy, down;
  CHECK(cudaGraphAddChildGraphNode(&inner, g, NULL, 0, child));
  CHECK(cudaGraphAddMemcpyNode1D(&copy, g, NULL, 0, b, a, bytes, cudaMemcpyDeviceToDevice));
  CHECK(cudaGraphAddMemcpyNode1D(&down, g, &copy, 1, h, b, bytes, cudaMemcpyDeviceToHost));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  CHECK(cudaGraphLaunch(x, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, bytes);
  return 0;
}
