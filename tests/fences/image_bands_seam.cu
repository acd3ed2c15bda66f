// SPDX-License-Identifier: Apache-2.0
// Two streams filter the upper and the lower band of an image and copy them out.
#include "hold.h"

enum { W = 190, H = 108 };

__global__ void brighten(const unsigned char* in, unsigned char* out, int y0, int y1) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = y0 + blockIdx.y * blockDim.y + threadIdx.y;
  if (x < W && y < y1) {
    int v = in[y * W + x] * 3 / 2;
    out[y * W + x] = v > 255 ? 255 : v;
  }
}

int main() {
  unsigned char *in, *out, *h;
  CHECK(cudaMallocHost(&h, W * H));
  for (int i = 0; i < W * H; i++) h[i] = (unsigned char)(i * 7 + 1);
  CHECK(cudaMalloc(&in, W * H));
  CHECK(cudaMalloc(&out, W * H));
  CHECK(cudaMemcpy(in, h, W * H, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(out, 0, W * H));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  dim3 block(32, 8), grid((W + 31) / 32, (H / 2 + 7) / 8);
  const size_t half = H / 2 * W;
  hold(t);
  brighten<<<grid, block, 0, t>>>(in, out, H / 2, H);
  brighten<<<grid, block, 0, s>>>(in, out, 0, H / 2);
  CHECK(cudaMemcpyAsync(h, out, half + W, cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  report(h, half + W);
  CHECK(cudaStreamSynchronize(t));
  return 0;
}
