// SPDX-License-Identifier: Apache-2.0
// Two streams filter the upper and the lower band of an image whose width and
// height are no whole number of blocks.
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
  for (int i = 0; i < W * H; i++) h[i] = (unsigned char)(i * 7);
  CHECK(cudaMalloc(&in, W * H));
  CHECK(cudaMalloc(&out, W * H));
  CHECK(cudaMemcpy(in, h, W * H, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[2];
  dim3 block(32, 8), grid((W + 31) / 32, (H / 2 + 7) / 8);
  for (int k = 0; k < 2; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
    if (k == 0) hold(s[k]);
    brighten<<<grid, block, 0, s[k]>>>(in, out, k * H / 2, (k + 1) * H / 2);
    size_t at = k * H / 2 * W, bytes = H / 2 * W;
    CHECK(cudaMemcpyAsync(h + at, out + at, bytes, cudaMemcpyDeviceToHost, s[k]));
  }
  for (int k = 0; k < 2; k++) CHECK(cudaStreamSynchronize(s[k]));
  report(h, W * H);
  return 0;
}
