// SPDX-License-Identifier: Apache-2.0
// A kernel paints an image through a surface; the image is copied to the host.
#include "hold.h"

__global__ void paint(cudaSurfaceObject_t image, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) surf2Dwrite((unsigned char)(x * 3 + y), image, x, y);
}

static cudaSurfaceObject_t surface_of(cudaArray_t array) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = array;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &r));
  return surface;
}

int main() {
  const int w = 512, h = 128;
  unsigned char* pixels;
  CHECK(cudaMallocHost(&pixels, w * h));
  memset(pixels, 0, w * h);
  cudaArray_t array;
  cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
  CHECK(cudaMallocArray(&array, &bytes, w, h, cudaArraySurfaceLoadStore));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, pixels, w, w, h, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaSurfaceObject_t image = surface_of(array);
  cudaStream_t brush, disk;
  CHECK(cudaStreamCreateWithFlags(&brush, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&disk, cudaStreamNonBlocking));
  hold(brush);
  paint<<<dim3(w / 128, h), 128, 0, brush>>>(image, w, h);
  CHECK(cudaMemcpy2DFromArrayAsync(pixels, w, array, 0, 0, w, h, cudaMemcpyDeviceToHost, disk));
  CHECK(cudaStreamSynchronize(disk));
  report(pixels, w * h);
  CHECK(cudaStreamSynchronize(brush));
  CHECK(cudaDestroySurfaceObject(image));
  return 0;
}
