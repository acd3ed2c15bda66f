// SPDX-License-Identifier: Apache-2.0
// A height map is written through a surface and sampled through a texture of the same array.
#include "hold.h"

__global__ void raise_hills(cudaSurfaceObject_t map, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) surf2Dwrite((float)(x ^ y), map, x * (int)sizeof(float), y);
}

__global__ void light(cudaTextureObject_t map, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) out[y * w + x] = tex2D<float>(map, x + 1, y) - tex2D<float>(map, x, y);
}

int main() {
  const int w = 256, h = 64;
  float *out, *pixels;
  CHECK(cudaMallocHost(&pixels, w * h * sizeof(float)));
  CHECK(cudaMalloc(&out, w * h * sizeof(float)));
  cudaArray_t array;
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&array, &floats, w, h, cudaArraySurfaceLoadStore));
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = array;
  cudaTextureDesc d = {};
  d.readMode = cudaReadModeElementType;
  cudaSurfaceObject_t written;
  cudaTextureObject_t sampled;
  CHECK(cudaCreateSurfaceObject(&written, &r));
  CHECK(cudaCreateTextureObject(&sampled, &r, &d, NULL));
  cudaStream_t terrain, draw;
  CHECK(cudaStreamCreateWithFlags(&terrain, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&draw, cudaStreamNonBlocking));
  cudaEvent_t raised;
  CHECK(cudaEventCreateWithFlags(&raised, cudaEventDisableTiming));
  hold(terrain);
  raise_hills<<<dim3(w / 64, h), 64, 0, terrain>>>(written, w, h);
  CHECK(cudaEventRecord(raised, terrain));
  CHECK(cudaStreamWaitEvent(draw, raised, 0));
  light<<<dim3(w / 64, h), 64, 0, draw>>>(sampled, out, w, h);
  CHECK(cudaMemcpyAsync(pixels, out, w * h * sizeof(float), cudaMemcpyDeviceToHost, draw));
  CHECK(cudaStreamSynchronize(draw));
  report(pixels, w * h * sizeof(float));
  CHECK(cudaDestroyTextureObject(sampled));
  CHECK(cudaDestroySurfaceObject(written));
  CHECK(cudaFreeArray(array));
  return 0;
}
