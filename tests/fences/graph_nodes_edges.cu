// SPDX-License-Identifier: Apache-2.0
// A graph built node by node, its edges given afterwards.
#include "hold.h"

__global__ void squares(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i * i;
}

int main() {
  int n = 1 << 13;
  size_t bytes = n * sizeof(int);
  int *a, *b, *h = (int*)calloc(n, sizeof(int));
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMemset(a, 0, bytes));
  CHECK(cudaDeviceSynchronize());
  cudaGraph_t g;
  CHECK(cudaGraphCreate(&g, 0));
  cudaGraphNode_t clear, pause, delay, kernel, copy;
  cudaMemsetParams m = {b, 0, 0, 1, bytes, 1};
  CHECK(cudaGraphAddMemsetNode(&clear, g, NULL, 0, &m));
  // The copy comes 5 ms after the beginning: the kernel has ended long before, unless it is held
  // up for longer than that. Both branches have a kernel, so that they run side by side.
  spin_node(&pause, g, &clear, 1, 5000000ull);
  hold_node(&delay, g, NULL, 0);

  void* args[] = {&a, &n};
  cudaKernelNodeParams k = {};
  k.func = (void*)squares;
  k.gridDim = dim3(n / 256);
  k.blockDim = dim3(256);
  k.kernelParams = args;
  CHECK(cudaGraphAddKernelNode(&kernel, g, NULL, 0, &k));
  CHECK(cudaGraphAddMemcpyNode1D(&copy, g, NULL, 0, b, a, bytes, cudaMemcpyDefault));
  cudaGraphNode_t from[] = {delay, pause}, to[] = {kernel, copy};
  CHECK(cudaGraphAddDependencies(g, from, to, NULL, 2));

  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  CHECK(cudaGraphLaunch(x, cudaStreamPerThread));
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  CHECK(cudaMemcpy(h, b, bytes, cudaMemcpyDeviceToHost));
  report(h, bytes);
  return 0;
}
