// SPDX-License-Identifier: Apache-2.0
// Two streams upload two boxes of a volume.
#include "hold.h"

static cudaMemcpy3DParms box_copy(cudaPitchedPtr to, cudaPos at, const unsigned char* from,
                                  cudaExtent box) {
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr((void*)from, box.width, box.width, box.height);
  p.dstPtr = to;
  p.dstPos = at;
  p.extent = box;
  p.kind = cudaMemcpyHostToDevice;
  return p;
}

int main() {
  const size_t w = 64, h = 32, d = 16;
  cudaPitchedPtr volume;
  CHECK(cudaMalloc3D(&volume, make_cudaExtent(128, 64, 32)));
  CHECK(cudaMemset3D(volume, 0, make_cudaExtent(128, 64, 32)));
  CHECK(cudaDeviceSynchronize());
  unsigned char *red, *blue, *back;
  CHECK(cudaMallocHost(&red, w * h * d));
  CHECK(cudaMallocHost(&blue, w * h * d));
  CHECK(cudaMallocHost(&back, 128 * 64 * 32));
  memset(red, 1, w * h * d);
  memset(blue, 2, w * h * d);
  cudaStream_t one, two;
  CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  cudaExtent box = make_cudaExtent(w, h, d);
  cudaMemcpy3DParms first = box_copy(volume, make_cudaPos(0, 0, 0), red, box);
  cudaMemcpy3DParms second = box_copy(volume, make_cudaPos(60, 30, 15), blue, box);
  hold(one);
  CHECK(cudaMemcpy3DAsync(&first, one));
  CHECK(cudaMemcpy3DAsync(&second, two));
  CHECK(cudaDeviceSynchronize());
  cudaMemcpy3DParms all = {};
  all.srcPtr = volume;
  all.dstPtr = make_cudaPitchedPtr(back, 128, 128, 64);
  all.extent = make_cudaExtent(128, 64, 32);
  all.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&all));
  report(back, 128 * 64 * 32);
  return 0;
}
