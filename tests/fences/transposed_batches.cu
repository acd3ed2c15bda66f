// SPDX-License-Identifier: Apache-2.0
// Two small matrices in one array, each transposed into place by a kernel with
// one index, which it divides.
#include "hold.h"

__global__ void transpose(const int* in, int* out, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < w * h) out[(i % w) * h + i / w] = in[i];
}

int main() {
  const int w = 10, h = 100, n = w * h;
  int host[2 * n], *in, *out;
  for (int i = 0; i < 2 * n; i++) host[i] = 5 * i;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, sizeof host));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  transpose<<<4, 256, 0, s>>>(in, out, w, h);
  transpose<<<4, 256, 0, t>>>(in + n, out + n, w, h);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  report(host, sizeof host);
  return 0;
}
