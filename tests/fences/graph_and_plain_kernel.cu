// SPDX-License-Identifier: Apache-2.0
// A graph that copies its input, and a plain kernel that refills the input.
#include "hold.h"

__global__ void keep(const short* in, int* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    out[i] = in[i];
  }
}

__global__ void refill(short* in, int n, short v) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    in[i] = v + i % 10;
  }
}

int main() {
  const int n = 20011;
  short* in;
  int *out, *h;
  CHECK(cudaMalloc(&in, n * sizeof(short)));
  CHECK(cudaMalloc(&out, n * sizeof(int)));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  cudaStream_t s, other;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  refill<<<32, 128, 0, s>>>(in, n, 1);
  CHECK(cudaStreamSynchronize(s));

  cudaGraph_t g;
  cudaGraphExec_t x;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  hold(s);
  keep<<<32, 128, 0, s>>>(in, out, n);
  CHECK(cudaMemcpyAsync(h, out, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamEndCapture(s, &g));
  CHECK(cudaGraphInstantiate(&x, g, 0));
  CHECK(cudaGraphUpload(x, s));

  CHECK(cudaGraphLaunch(x, s));
  refill<<<32, 128, 0, other>>>(in, n, 500);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(other));
  report(h, n * sizeof(int));
  return 0;
}
