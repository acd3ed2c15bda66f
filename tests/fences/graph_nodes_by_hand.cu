// SPDX-License-Identifier: Apache-2.0
// A graph built node by node: memset, kernel, copy, kernel.
#include "hold.h"

__global__ void bump(int* a, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += k * i;
}

static cudaKernelNodeParams kernel_params(void** args, int n) {
  cudaKernelNodeParams p = {};
  p.func = (void*)bump;
  p.gridDim = dim3(n / 256);
  p.blockDim = dim3(256);
  p.kernelParams = args;
  return p;
}

int main() {
  int n = 1 << 13, three = 3, five = 5;
  int *a, *b;
  size_t bytes = n * sizeof(int);
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  cudaGraph_t g;
  CHECK(cudaGraphCreate(&g, 0));

  cudaGraphNode_t zero, wait, first, copy, second;
  cudaMemsetParams m = {};
  m.dst = a;
  m.value = 7;
  m.elementSize = 4;
  m.width = n;
  m.height = 1;
  CHECK(cudaGraphAddMemsetNode(&zero, g, NULL, 0, &m));
  hold_node(&wait, g, &zero, 1);
  void* args1[] = {&a, &three, &n};
  cudaKernelNodeParams k1 = kernel_params(args1, n);
  CHECK(cudaGraphAddKernelNode(&first, g, &wait, 1, &k1));
  CHECK(cudaGraphAddMemcpyNode1D(&copy, g, &first, 1, b, a, bytes, cudaMemcpyDeviceToDevice));
  void* args2[] = {&b, &five, &n};
  cudaKernelNodeParams k2 = kernel_params(args2, n);
  CHECK(cudaGraphAddKernelNode(&second, g, &copy, 1, &k2));

  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaGraphLaunch(x, s));
  int* h = (int*)malloc(bytes);
  CHECK(cudaMemcpyAsync(h, b, bytes, cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, bytes);
  return 0;
}
