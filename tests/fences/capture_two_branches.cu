// SPDX-License-Identifier: Apache-2.0
// A graph by capture of two streams: normalise, and a histogram concurrent with it.
#include "hold.h"

__global__ void normalise(const int* in, unsigned char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] >> 4;
}

__global__ void sharpen(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i + 1 < n) out[i] = 3 * in[i] - in[i - 1] - in[i + 1];
}

__global__ void histogram(const unsigned char* v, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[v[i]], 1u);
}

int main() {
  const int n = 1 << 14;
  int *in, *sharp;
  unsigned char* level;
  unsigned *bins, h[256];
  CHECK(cudaMalloc(&in, n * sizeof(int)));
  CHECK(cudaMalloc(&sharp, n * sizeof(int)));
  CHECK(cudaMalloc(&level, n));
  CHECK(cudaMalloc(&bins, sizeof h));
  CHECK(cudaMemset(in, 5, n * sizeof(int)));
  CHECK(cudaMemset(level, 0, n));
  int* hi = (int*)malloc(n * sizeof(int));
  for (int i = 0; i < n; i++) hi[i] = i & 4095;
  CHECK(cudaMemcpy(in, hi, n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t forked, back;
  CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&back, cudaEventDisableTiming));

  cudaGraph_t g;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaEventRecord(forked, s));
  CHECK(cudaStreamWaitEvent(t, forked, 0));
  hold(s);
  normalise<<<n / 256, 256, 0, s>>>(in, level, n);
  sharpen<<<n / 256, 256, 0, s>>>(in, sharp, n);
  CHECK(cudaMemsetAsync(bins, 0, sizeof h, t));
  histogram<<<n / 256, 256, 0, t>>>(level, bins, n);
  CHECK(cudaEventRecord(back, t));
  CHECK(cudaStreamWaitEvent(s, back, 0));
  CHECK(cudaStreamEndCapture(s, &g));
  cudaGraphExec_t x;
  CHECK(cudaGraphInstantiate(&x, g, 0));
  CHECK(cudaGraphLaunch(x, s));
  CHECK(cudaMemcpyAsync(h, bins, sizeof h, cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, sizeof h);
  return 0;
}
