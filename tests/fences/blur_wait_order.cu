// SPDX-License-Identifier: Apache-2.0
// A row filter and a column filter of an image, each in its own stream.
#include "hold.h"

struct Image {
  int w, h;
  int* px;
};

__global__ void blur_rows(Image in, Image out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= in.w) return;
  int l = x ? x - 1 : x, r = x + 1 < in.w ? x + 1 : x;
  out.px[y * in.w + x] = in.px[y * in.w + l] + 2 * in.px[y * in.w + x] + in.px[y * in.w + r];
}

__global__ void blur_cols(Image in, Image out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= in.w) return;
  int u = y ? y - 1 : y, d = y + 1 < in.h ? y + 1 : y;
  out.px[y * in.w + x] = in.px[u * in.w + x] + 2 * in.px[y * in.w + x] + in.px[d * in.w + x];
}

static Image make_image(int w, int h) {
  Image i = {w, h, NULL};
  CHECK(cudaMalloc(&i.px, (size_t)w * h * sizeof(int)));
  CHECK(cudaMemset(i.px, 0, (size_t)w * h * sizeof(int)));
  return i;
}

int main() {
  const int w = 512, h = 128;
  Image src = make_image(w, h), tmp = make_image(w, h), dst = make_image(w, h);
  int* host = (int*)malloc(w * h * sizeof(int));
  for (int i = 0; i < w * h; i++) host[i] = (i * 7) % 255;
  CHECK(cudaMemcpy(src.px, host, w * h * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());

  cudaStream_t rows, cols;
  CHECK(cudaStreamCreateWithFlags(&rows, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&cols, cudaStreamNonBlocking));
  cudaEvent_t done;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

  dim3 grid(w / 128, h);
  hold(rows);
  blur_rows<<<grid, 128, 0, rows>>>(src, tmp);
  CHECK(cudaStreamWaitEvent(cols, done, 0));
  CHECK(cudaEventRecord(done, rows));
  blur_cols<<<grid, 128, 0, cols>>>(tmp, dst);
  CHECK(cudaMemcpyAsync(host, dst.px, w * h * sizeof(int), cudaMemcpyDeviceToHost, cols));
  CHECK(cudaStreamSynchronize(cols));
  report(host, w * h * sizeof(int));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
