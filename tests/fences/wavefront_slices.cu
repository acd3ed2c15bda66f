// SPDX-License-Identifier: Apache-2.0
// Two streams write their slices of one array; in a slice thread r goes over k
// with r + k < 16 and writes element 2 r + k, 30 at most.
#include "hold.h"

enum { SLICE = 31 };

__global__ void wavefront(int* a, int value) {
  int r = threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < 16; k++) {
    if (r + k < 16) a[2 * r + k] = value;
  }
}

int main() {
  int h[2 * SLICE], *a;
  CHECK(cudaMalloc(&a, sizeof h));
  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  hold(s);
  wavefront<<<1, 16, 0, s>>>(a, 5);
  wavefront<<<1, 16, 0, t>>>(a + SLICE, 6);
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
