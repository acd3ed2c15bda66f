// SPDX-License-Identifier: Apache-2.0
// A graph allocates scratch memory, fills it by two nodes, reads it by one and frees it. It is
// launched in two streams in turn; launches of one graph come one after the other.
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
  int n = 1 << 14, half = n / 2, low = 3, high = 1000;
  int *a, *out, *h;
  CHECK(cudaMalloc(&out, n * sizeof(int)));
  CHECK(cudaMemset(out, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  cudaGraph_t g;
  cudaGraphNode_t made, slow, filled[2], folded, freed;
  CHECK(cudaGraphCreate(&g, 0));
  made = alloc_node(g, NULL, &a, n * sizeof(int));
  int* b = a + half;
  void *left[] = {&a, &low, &half}, *right[] = {&b, &high, &half}, *all[] = {&a, &out, &n};
  cudaKernelNodeParams fill_left = kernel_of((void*)fill, half, left);
  cudaKernelNodeParams fill_right = kernel_of((void*)fill, half, right);
  cudaKernelNodeParams fold_all = kernel_of((void*)fold, n, all);
  hold_node(&slow, g, &made, 1);
  CHECK(cudaGraphAddKernelNode(&filled[0], g, &slow, 1, &fill_left));
  CHECK(cudaGraphAddKernelNode(&filled[1], g, &made, 1, &fill_right));
  CHECK(cudaGraphAddKernelNode(&folded, g, filled, 2, &fold_all));
  CHECK(cudaGraphAddMemFreeNode(&freed, g, &folded, 1, a));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  cudaStream_t s[2];
  for (int i = 0; i < 2; i++) CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
  for (int i = 0; i < 4; i++) CHECK(cudaGraphLaunch(x, s[i % 2]));
  CHECK(cudaMemcpyAsync(h, out, n * sizeof(int), cudaMemcpyDeviceToHost, s[1]));
  CHECK(cudaStreamSynchronize(s[1]));
  report(h, n * sizeof(int));
  return 0;
}
