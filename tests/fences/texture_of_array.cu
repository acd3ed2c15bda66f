// SPDX-License-Identifier: Apache-2.0
// Two frames through one CUDA array: a copy into it waits for the kernel that
// reads it as a texture, and the kernel for the copy.
#include "hold.h"

__global__ void sample(cudaTextureObject_t img, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) out[y * w + x] += 2 * tex2D<float>(img, x + 0.5f, h - y - 0.5f);
}

int main() {
  const int w = 128, h = 64;
  const size_t bytes = w * h * sizeof(float);
  float *frames, *out, *back;
  CHECK(cudaMallocHost(&frames, 2 * bytes));
  CHECK(cudaMallocHost(&back, bytes));
  CHECK(cudaMalloc(&out, bytes));
  CHECK(cudaMemset(out, 0, bytes));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 2 * w * h; i++) frames[i] = i % 1000;
  cudaArray_t array;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&array, &f, w, h));
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = array;
  cudaTextureDesc d = {};
  d.readMode = cudaReadModeElementType;
  cudaTextureObject_t img;
  CHECK(cudaCreateTextureObject(&img, &r, &d, NULL));

  cudaStream_t copy, run;
  CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&run, cudaStreamNonBlocking));
  cudaEvent_t in, used;
  CHECK(cudaEventCreateWithFlags(&in, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
  const size_t row = w * sizeof(float);
  for (int k = 0; k < 2; k++) {
    CHECK(cudaStreamWaitEvent(copy, used, 0));
    CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, frames + k * w * h, row, row, h,
                                   cudaMemcpyHostToDevice, copy));
    CHECK(cudaEventRecord(in, copy));
    CHECK(cudaStreamWaitEvent(run, in, 0));
    hold(run);
    sample<<<dim3(1, h), w, 0, run>>>(img, out, w, h);
    CHECK(cudaEventRecord(used, run));
  }
  CHECK(cudaMemcpyAsync(back, out, bytes, cudaMemcpyDeviceToHost, run));
  CHECK(cudaStreamSynchronize(run));
  report(back, bytes);
  return 0;
}
