// SPDX-License-Identifier: Apache-2.0
// A table of colours, baked by a kernel and read through a texture.
#include "hold.h"

__global__ void bake_table(float* t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) t[i] = i * 0.5f + 1.0f;
}

__global__ void shade(cudaTextureObject_t table, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float>(table, (i * 7) & 1023);
}

static cudaTextureObject_t make_texture(float* t, int n) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeLinear;
  r.res.linear.devPtr = t;
  r.res.linear.desc = cudaCreateChannelDesc<float>();
  r.res.linear.sizeInBytes = n * sizeof(float);
  cudaTextureDesc d = {};
  d.readMode = cudaReadModeElementType;
  cudaTextureObject_t x;
  CHECK(cudaCreateTextureObject(&x, &r, &d, NULL));
  return x;
}

int main() {
  const int entries = 1024, n = 1 << 14;
  float *t, *out, *h = (float*)malloc(n * sizeof(float));
  CHECK(cudaMalloc(&t, entries * sizeof(float)));
  CHECK(cudaMalloc(&out, n * sizeof(float)));
  CHECK(cudaMemset(t, 0, entries * sizeof(float)));
  CHECK(cudaDeviceSynchronize());
  cudaTextureObject_t table = make_texture(t, entries);
  cudaStream_t bake, draw;
  CHECK(cudaStreamCreateWithFlags(&bake, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&draw, cudaStreamNonBlocking));
  hold(bake);
  bake_table<<<entries / 256, 256, 0, bake>>>(t, entries);
  shade<<<n / 256, 256, 0, draw>>>(table, out, n);
  CHECK(cudaMemcpyAsync(h, out, n * sizeof(float), cudaMemcpyDeviceToHost, draw));
  CHECK(cudaStreamSynchronize(draw));
  report(h, n * sizeof(float));
  CHECK(cudaStreamSynchronize(bake));
  return 0;
}
