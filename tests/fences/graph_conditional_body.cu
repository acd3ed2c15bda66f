// SPDX-License-Identifier: Apache-2.0
// A conditional node, whose body runs, between a node that fills an array and one that reads it.
#include "hold.h"

__global__ void fill(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 7 * i;
}

__global__ void correct(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += i & 15;
}

__global__ void use(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[n - 1 - i];
}

static cudaKernelNodeParams node_of(void* function, int n, void** args) {
  cudaKernelNodeParams p = {};
  p.func = function;
  p.gridDim = dim3(n / 256);
  p.blockDim = dim3(256);
  p.kernelParams = args;
  return p;
}

int main() {
  int n = 1 << 12;
  int *a, *b, *h;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  CHECK(cudaMemset(a, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  void *one[] = {&a, &n}, *two[] = {&a, &b, &n};
  cudaKernelNodeParams filling = node_of((void*)fill, n, one);
  cudaKernelNodeParams correcting = node_of((void*)correct, n, one);
  cudaKernelNodeParams using_it = node_of((void*)use, n, two);
  cudaGraph_t g;
  cudaGraphNode_t slow, filled, choice, corrected, used;
  cudaGraphConditionalHandle yes;
  CHECK(cudaGraphCreate(&g, 0));
  CHECK(cudaGraphConditionalHandleCreate(&yes, g, 1, cudaGraphCondAssignDefault));
  hold_node(&slow, g, NULL, 0);
  CHECK(cudaGraphAddKernelNode(&filled, g, &slow, 1, &filling));
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeConditional;
  p.conditional.handle = yes;
  p.conditional.type = cudaGraphCondTypeIf;
  p.conditional.size = 1;
  CHECK(cudaGraphAddNode(&choice, g, &filled, NULL, 1, &p));
  cudaGraph_t body = p.conditional.phGraph_out[0];
  CHECK(cudaGraphAddKernelNode(&corrected, body, NULL, 0, &correcting));
  CHECK(cudaGraphAddKernelNode(&used, g, &choice, 1, &using_it));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  for (int i = 0; i < 2; i++) CHECK(cudaGraphLaunch(x, s));
  CHECK(cudaMemcpyAsync(h, b, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, n * sizeof(int));
  return 0;
}
