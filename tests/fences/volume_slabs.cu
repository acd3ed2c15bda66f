// SPDX-License-Identifier: Apache-2.0
// Two streams upload the lower and the upper slab of a volume; a third one uploads a column next
// to them.
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
  const size_t w = 96, h = 40, d = 20;
  cudaPitchedPtr volume;
  CHECK(cudaMalloc3D(&volume, make_cudaExtent(128, h, d)));
  CHECK(cudaMemset3D(volume, 0, make_cudaExtent(128, h, d)));
  CHECK(cudaDeviceSynchronize());
  unsigned char *slab, *back;
  CHECK(cudaMallocHost(&slab, w * h * d));
  CHECK(cudaMallocHost(&back, 128 * h * d));
  for (size_t i = 0; i < w * h * d; i++) slab[i] = (unsigned char)(i % 251);
  cudaStream_t low, high, side;
  CHECK(cudaStreamCreateWithFlags(&low, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&high, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  cudaExtent half = make_cudaExtent(w, h, d / 2), column = make_cudaExtent(128 - w, h, d);
  cudaMemcpy3DParms lower = box_copy(volume, make_cudaPos(0, 0, 0), slab, half);
  cudaMemcpy3DParms upper = box_copy(volume, make_cudaPos(0, 0, d / 2), slab + w * h, half);
  cudaMemcpy3DParms beside = box_copy(volume, make_cudaPos(w, 0, 0), slab, column);
  hold(low);
  CHECK(cudaMemcpy3DAsync(&lower, low));
  CHECK(cudaMemcpy3DAsync(&upper, high));
  CHECK(cudaMemcpy3DAsync(&beside, side));
  CHECK(cudaDeviceSynchronize());
  cudaMemcpy3DParms all = {};
  all.srcPtr = volume;
  all.dstPtr = make_cudaPitchedPtr(back, 128, 128, h);
  all.extent = make_cudaExtent(128, h, d);
  all.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&all));
  report(back, 128 * h * d);
  return 0;
}
