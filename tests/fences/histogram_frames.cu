// SPDX-License-Identifier: Apache-2.0
// Counts the bytes of frames; the bins of a frame are cleared while the frame
// is copied in.
#include "hold.h"

__global__ void count(const unsigned char* v, int n, unsigned* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[v[i] & 63], 1u);
}

int main() {
  const int n = 1 << 14;
  unsigned char *h, *frame[2];
  unsigned *bins, out[64];
  CHECK(cudaMallocHost(&h, 2 * n));
  for (int i = 0; i < 2 * n; i++) h[i] = (unsigned char)(i / 3);
  CHECK(cudaMalloc(&frame[0], n));
  CHECK(cudaMalloc(&frame[1], n));
  CHECK(cudaMalloc(&bins, sizeof out));
  cudaStream_t copy, work;
  CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  cudaEvent_t in[2];
  for (int f = 0; f < 2; f++) CHECK(cudaEventCreateWithFlags(&in[f], cudaEventDisableTiming));

  CHECK(cudaMemcpyAsync(frame[0], h, n, cudaMemcpyHostToDevice, copy));
  CHECK(cudaMemsetAsync(bins, 0, sizeof out, copy));
  CHECK(cudaEventRecord(in[0], copy));
  CHECK(cudaStreamWaitEvent(work, in[0], 0));
  hold(work);
  count<<<n / 256, 256, 0, work>>>(frame[0], n, bins);

  CHECK(cudaMemcpyAsync(frame[1], h + n, n, cudaMemcpyHostToDevice, copy));
  CHECK(cudaMemsetAsync(bins, 0, sizeof out, copy));
  CHECK(cudaEventRecord(in[1], copy));
  CHECK(cudaStreamWaitEvent(work, in[1], 0));
  count<<<n / 256, 256, 0, work>>>(frame[1], n, bins);
  CHECK(cudaMemcpyAsync(out, bins, sizeof out, cudaMemcpyDeviceToHost, work));
  CHECK(cudaStreamSynchronize(work));
  report(out, sizeof out);
  return 0;
}
