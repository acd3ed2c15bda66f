// SPDX-License-Identifier: Apache-2.0
// One graph of one kernel, its parameters set anew before each launch so that
// two buffers take turns.
#include "hold.h"

__global__ void smooth(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int l = i ? in[i - 1] : in[i], r = i + 1 < n ? in[i + 1] : in[i];
  out[i] = (l + 2 * in[i] + r) / 4;
}

int main() {
  int n = 2048;
  int *buf[2], *h = (int*)malloc(n * sizeof(int));
  for (int i = 0; i < n; i++) h[i] = i * i % 4096;
  CHECK(cudaMalloc(&buf[0], n * sizeof(int)));
  CHECK(cudaMalloc(&buf[1], n * sizeof(int)));
  CHECK(cudaMemcpy(buf[0], h, n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaGraph_t g;
  cudaGraphExec_t x;
  cudaGraphNode_t delay, node;
  CHECK(cudaGraphCreate(&g, 0));
  hold_node(&delay, g, NULL, 0);
  const int* in = buf[0];
  int* out = buf[1];
  void* args[] = {&in, &out, &n};
  cudaKernelNodeParams p = {};
  p.func = (void*)smooth;
  p.gridDim = dim3(n / 256);
  p.blockDim = dim3(256);
  p.kernelParams = args;
  CHECK(cudaGraphAddKernelNode(&node, g, &delay, 1, &p));
  CHECK(cudaGraphInstantiate(&x, g, 0));
  cudaStream_t s[2];
  CHECK(cudaStreamCreateWithFlags(&s[0], cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&s[1], cudaStreamNonBlocking));
  for (int k = 0; k < 6; k++) {
    in = buf[k & 1];
    out = buf[1 - (k & 1)];
    CHECK(cudaGraphExecKernelNodeSetParams(x, node, &p));
    CHECK(cudaGraphLaunch(x, s[k % 2]));
  }
  CHECK(cudaStreamSynchronize(s[0]));
  CHECK(cudaStreamSynchronize(s[1]));
  CHECK(cudaMemcpy(h, buf[0], n * sizeof(int), cudaMemcpyDeviceToHost));
  report(h, n * sizeof(int));
  free(h);
  return 0;
}
