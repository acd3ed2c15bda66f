// SPDX-License-Identifier: Apache-2.0
// The two fields of an interlaced picture arrive by two streams; a kernel
// blends them.
#include "hold.h"

#define W 256
#define H 64

__global__ void blend(const unsigned char* in, unsigned char* out) {
  int x = threadIdx.x, y = blockIdx.x, below = y + 1 < H ? y + 1 : y;
  out[y * W + x] = (in[y * W + x] + in[below * W + x]) / 2;
}

int main() {
  const size_t field = W * H / 2;
  unsigned char *top, *bottom, *d, *o, *h;
  CHECK(cudaMallocHost(&top, field));
  CHECK(cudaMallocHost(&bottom, field));
  CHECK(cudaMallocHost(&h, 2 * field));
  memset(top, 200, field);
  memset(bottom, 100, field);
  CHECK(cudaMalloc(&d, 2 * field));
  CHECK(cudaMalloc(&o, 2 * field));
  CHECK(cudaMemset(d, 0, 2 * field));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t st, sb, work;
  CHECK(cudaStreamCreateWithFlags(&st, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&sb, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  cudaEvent_t arrived;
  CHECK(cudaEventCreateWithFlags(&arrived, cudaEventDisableTiming));
  hold(st);
  CHECK(cudaMemcpy2DAsync(d, 2 * W, top, W, W, H / 2, cudaMemcpyHostToDevice, st));
  CHECK(cudaEventRecord(arrived, st));
  CHECK(cudaMemcpy2DAsync(d + W, 2 * W, bottom, W, W, H / 2, cudaMemcpyHostToDevice, sb));
  CHECK(cudaEventRecord(arrived, sb));
  CHECK(cudaStreamWaitEvent(work, arrived, 0));
  blend<<<H, W, 0, work>>>(d, o);
  CHECK(cudaMemcpyAsync(h, o, 2 * field, cudaMemcpyDeviceToHost, work));
  CHECK(cudaStreamSynchronize(work));
  report(h, 2 * field);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
