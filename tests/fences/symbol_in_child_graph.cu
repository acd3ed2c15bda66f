// SPDX-License-Identifier: Apache-2.0
// A child graph fills a global table; another stream copies the table to the host.
#include "hold.h"

#define N 4096
__device__ int table[N];

__global__ void fill_table(int seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) table[i] = i ^ seed;
}

static cudaGraph_t make_child(cudaStream_t s) {
  cudaGraph_t g;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  hold(s);
  fill_table<<<N / 128, 128, 0, s>>>(77);
  CHECK(cudaStreamEndCapture(s, &g));
  return g;
}

int main() {
  int* h;
  CHECK(cudaMallocHost(&h, sizeof table));
  memset(h, 0, sizeof table);
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaGraph_t g, child = make_child(s);
  CHECK(cudaGraphCreate(&g, 0));
  cudaGraphNode_t inner;
  CHECK(cudaGraphAddChildGraphNode(&inner, g, NULL, 0, child));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  CHECK(cudaGraphLaunch(x, s));
  CHECK(cudaMemcpyFromSymbolAsync(h, table, sizeof table, 0, cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaStreamSynchronize(s));
  report(h, sizeof table);
  return 0;
}
