// SPDX-License-Identifier: Apache-2.0
// Two child graphs work on one array.
#include "hold.h"

__global__ void scale(unsigned* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 3 * a[i] + 1;
}

__global__ void mix(unsigned* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] ^= a[i] >> 3;
}

static cudaGraph_t make_child(void* function, unsigned* a, int n) {
  cudaGraph_t child;
  cudaGraphNode_t node;
  void* args[] = {&a, &n};
  cudaKernelNodeParams p = {};
  p.func = function;
  p.gridDim = dim3(n / 128);
  p.blockDim = dim3(128);
  p.kernelParams = args;
  CHECK(cudaGraphCreate(&child, 0));
  CHECK(cudaGraphAddKernelNode(&node, child, NULL, 0, &p));
  return child;
}

int main() {
  const int n = 1 << 13;
  unsigned *a, *h;
  CHECK(cudaMalloc(&a, n * sizeof(unsigned)));
  CHECK(cudaMallocHost(&h, n * sizeof(unsigned)));
  CHECK(cudaMemset(a, 5, n * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  cudaGraph_t g, scaling = make_child((void*)scale, a, n), mixing = make_child((void*)mix, a, n);
  cudaGraphNode_t slow, pair[2], copied;
  CHECK(cudaGraphCreate(&g, 0));
  hold_node(&slow, g, NULL, 0);
  CHECK(cudaGraphAddChildGraphNode(&pair[0], g, &slow, 1, scaling));
  CHECK(cudaGraphAddChildGraphNode(&pair[1], g, NULL, 0, mixing));
  CHECK(cudaGraphAddMemcpyNode1D(&copied, g, pair, 2, h, a, n * 4, cudaMemcpyDeviceToHost));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaGraphLaunch(x, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, n * sizeof(unsigned));
  return 0;
}
