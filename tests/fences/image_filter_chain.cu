// SPDX-License-Identifier: Apache-2.0
// Two images, each through a chain of three filters in its own stream; the
// second image's chain uses the mean of the first.
#include "hold.h"

struct Img {
  unsigned char *a, *b;
  cudaStream_t s;
};

enum { W = 160, H = 120 };

template <int OP>
__global__ void filter(const unsigned char* __restrict__ in, unsigned char* __restrict__ out,
                       const unsigned* mean) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= W) return;
  int v = in[y * W + x];
  if (OP == 0) v = 255 - v;
  if (OP == 1) v = (v + in[y * W + (x ? x - 1 : 0)] + in[y * W + (x + 1 < W ? x + 1 : x)]) / 3;
  if (OP == 2) v = v > (int)(*mean / (W * H)) ? 255 : 0;
  out[y * W + x] = v;
}

__global__ void total(const unsigned char* in, unsigned* sum) {
  unsigned s = 0;
  for (int i = threadIdx.x; i < W * H; i += blockDim.x) s += in[i];
  atomicAdd(sum, s);
}

int main() {
  Img im[2];
  unsigned char* h;
  unsigned* sum;
  CHECK(cudaMallocHost(&h, 2 * W * H));
  CHECK(cudaMalloc(&sum, sizeof *sum));
  for (int i = 0; i < 2 * W * H; i++) h[i] = i % 251;
  for (Img& i : im) {
    CHECK(cudaMalloc(&i.a, W * H));
    CHECK(cudaMalloc(&i.b, W * H));
    CHECK(cudaStreamCreateWithFlags(&i.s, cudaStreamNonBlocking));
  }
  cudaEvent_t mean_ready;
  CHECK(cudaEventCreateWithFlags(&mean_ready, cudaEventDisableTiming));
  dim3 grid((W + 31) / 32, H);
  for (int k = 0; k < 2; k++) {
    Img& i = im[k];
    CHECK(cudaMemcpyAsync(i.a, h + k * W * H, W * H, cudaMemcpyHostToDevice, i.s));
    filter<0><<<grid, 32, 0, i.s>>>(i.a, i.b, NULL);
    filter<1><<<grid, 32, 0, i.s>>>(i.b, i.a, NULL);
    if (k == 0) {
      CHECK(cudaMemsetAsync(sum, 0, sizeof *sum, i.s));
      hold(i.s);
      total<<<1, 256, 0, i.s>>>(i.a, sum);
      CHECK(cudaEventRecord(mean_ready, i.s));
    } else {
      CHECK(cudaStreamWaitEvent(i.s, mean_ready, 0));
    }
    filter<2><<<grid, 32, 0, i.s>>>(i.a, i.b, sum);
    CHECK(cudaMemcpyAsync(h + k * W * H, i.b, W * H, cudaMemcpyDeviceToHost, i.s));
  }
  CHECK(cudaStreamSynchronize(im[0].s));
  CHECK(cudaStreamSynchronize(im[1].s));
  report(h, 2 * W * H);
  return 0;
}
