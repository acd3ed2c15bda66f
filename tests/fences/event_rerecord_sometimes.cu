// SPDX-License-Identifier: Apache-2.0
// A frame is made in one stream and encoded in another one, with an event each way.
#include "hold.h"

__global__ void make(int* frame, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) frame[i] = k * 1000 + i;
}

__global__ void encode(const int* frame, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = out[i] * 31 + frame[i];
}

int main() {
  const int n = 1 << 13;
  int *frame, *out, *h;
  CHECK(cudaMalloc(&frame, n * sizeof(int)));
  CHECK(cudaMalloc(&out, n * sizeof(int)));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  CHECK(cudaMemset(out, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t camera, coder;
  CHECK(cudaStreamCreateWithFlags(&camera, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&coder, cudaStreamNonBlocking));
  cudaEvent_t made, coded;
  CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&coded, cudaEventDisableTiming));
  for (int k = 0; k < 6; k++) {
    CHECK(cudaStreamWaitEvent(camera, coded, 0));
    if (k == 3) hold(camera);
    make<<<n / 256, 256, 0, camera>>>(frame, k, n);
    if (k % 2 == 0) CHECK(cudaEventRecord(made, camera));
    CHECK(cudaStreamWaitEvent(coder, made, 0));
    encode<<<n / 256, 256, 0, coder>>>(frame, out, n);
    CHECK(cudaEventRecord(coded, coder));
  }
  CHECK(cudaMemcpyAsync(h, out, n * sizeof(int), cudaMemcpyDeviceToHost, coder));
  CHECK(cudaStreamSynchronize(coder));
  report(h, n * sizeof(int));
  CHECK(cudaStreamSynchronize(camera));
  return 0;
}
