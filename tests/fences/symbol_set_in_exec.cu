// SPDX-License-Identifier: Apache-2.0
// The kernel of an instantiated graph is replaced by one that fills a global table, which
// another stream copies to the host after an event.
#include "hold.h"

#define N 4096
__device__ int table[N];

__global__ void do_nothing(int seed) {
  if (seed < 0) __trap();
}

__global__ void fill_table(int seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) table[i] = i ^ seed;
}

static cudaKernelNodeParams params_of(void* kernel, void** args) {
  cudaKernelNodeParams p;
  memset(&p, 0, sizeof p);
  p.func = kernel;
  p.gridDim = dim3(N / 128);
  p.blockDim = dim3(128);
  p.kernelParams = args;
  return p;
}

int main() {
  int *h, seed = 19;
  CHECK(cudaMallocHost(&h, sizeof table));
  memset(h, 0, sizeof table);
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t filled;
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));

  cudaGraph_t g;
  CHECK(cudaGraphCreate(&g, 0));
  cudaGraphNode_t node;
  void* args[] = {&seed};
  cudaKernelNodeParams p = params_of((void*)do_nothing, args);
  CHECK(cudaGraphAddKernelNode(&node, g, NULL, 0, &p));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  p = params_of((void*)fill_table, args);
  CHECK(cudaGraphExecKernelNodeSetParams(x, node, &p));

#ifdef UNORDERED
  CHECK(cudaEventRecord(filled, s));
#endif
  hold(s);
  CHECK(cudaGraphLaunch(x, s));
#ifndef UNORDERED
  CHECK(cudaEventRecord(filled, s));
#endif
  CHECK(cudaStreamWaitEvent(t, filled, 0));
  CHECK(cudaMemcpyFromSymbolAsync(h, table, sizeof table, 0, cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaStreamSynchronize(s));
  report(h, sizeof table);
  return 0;
}
