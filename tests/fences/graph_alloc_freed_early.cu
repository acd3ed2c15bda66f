// SPDX-License-Identifier: Apache-2.0
// A graph allocates memory twice: the second time when the first memory was freed.
#include "hold.h"

__global__ void fill(int* a, int first, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = first + 5 * i;
}

__global__ void fold(const int* a, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] ^ a[n - 1 - i];
}

static cudaGraphNode_t alloc_node(cudaGraph_t g, const cudaGraphNode_t* after, int** a,
                                  size_t bytes) {
  cudaMemAllocNodeParams p = {};
  p.poolProps.allocType = cudaMemAllocationTypePinned;
  p.poolProps.location.type = cudaMemLocationTypeDevice;
  p.bytesize = bytes;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddMemAllocNode(&node, g, after, after ? 1 : 0, &p));
  *a = (int*)p.dptr;
  return node;
}

static cudaKernelNodeParams kernel_of(void* function, int n, void** args) {
  cudaKernelNodeParams p = {};
  p.func = function;
  p.gridDim = dim3(n / 256);
  p.blockDim = dim3(256);
  p.kernelParams = args;
  return p;
}

int main() {
  int n = 1 << 14, low = 3, high = 1000;
  int *a, *b, *out, *h;
  CHECK(cudaMalloc(&out, n * sizeof(int)));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  cudaGraph_t g;
  cudaGraphNode_t made, filled, slow, folded, freed, again, refilled, gone;
  CHECK(cudaGraphCreate(&g, 0));
  made = alloc_node(g, NULL, &a, n * sizeof(int));
  void *first[] = {&a, &low, &n}, *second[] = {&b, &high, &n}, *all[] = {&a, &out, &n};
  cudaKernelNodeParams fill_first = kernel_of((void*)fill, n, first);
  cudaKernelNodeParams fold_first = kernel_of((void*)fold, n, all);
  CHECK(cudaGraphAddKernelNode(&filled, g, &made, 1, &fill_first));
  hold_node(&slow, g, &filled, 1);
  CHECK(cudaGraphAddKernelNode(&folded, g, &slow, 1, &fold_first));
  CHECK(cudaGraphAddMemFreeNode(&freed, g, &filled, 1, a));
  again = alloc_node(g, &freed, &b, n * sizeof(int));
  cudaKernelNodeParams fill_second = kernel_of((void*)fill, n, second);
  CHECK(cudaGraphAddKernelNode(&refilled, g, &again, 1, &fill_second));
  CHECK(cudaGraphAddMemFreeNode(&gone, g, &refilled, 1, b));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaGraphLaunch(x, s));
  CHECK(cudaMemcpyAsync(h, out, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, n * sizeof(int));
  return 0;
}
