// SPDX-License-Identifier: Apache-2.0
// A captured scratch buffer whose halves are filled in two branches; what was joined is copied out
// before the buffer is freed. The graph is launched in both streams in turn.
#include "hold.h"

__global__ void fill(int* a, int from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[from + i] = from + i;
}

int main() {
  const int n = 4096, blocks = n / 2 / 256;
  int *scratch, *out, *h;
  CHECK(cudaMalloc(&out, n * sizeof(int)));
  CHECK(cudaMemset(out, 0, n * sizeof(int)));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t forked, joined;
  CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));

  cudaGraph_t g;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&scratch, n * sizeof(int), s));
  CHECK(cudaEventRecord(forked, s));
  CHECK(cudaStreamWaitEvent(t, forked, 0));
  hold(t);
  fill<<<blocks, 256, 0, s>>>(scratch, 0, n / 2);
  fill<<<blocks, 256, 0, t>>>(scratch, n / 2, n / 2);
  CHECK(cudaEventRecord(joined, t));
  CHECK(cudaStreamWaitEvent(s, joined, 0));
  CHECK(cudaMemcpyAsync(out, scratch, n * sizeof(int), cudaMemcpyDeviceToDevice, s));
  CHECK(cudaFreeAsync(scratch, s));
  CHECK(cudaStreamEndCapture(s, &g));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  for (int i = 0; i < 4; i++) CHECK(cudaGraphLaunch(x, i % 2 ? t : s));
  CHECK(cudaMemcpyAsync(h, out, n * sizeof(int), cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaDeviceSynchronize());
  report(h, n * sizeof(int));
  return 0;
}
