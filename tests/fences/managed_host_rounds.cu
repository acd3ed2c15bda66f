// SPDX-License-Identifier: Apache-2.0
// Managed memory: the host and a kernel take turns, with a synchronisation
// between them.
#include "hold.h"

__global__ void life(const unsigned char* now, unsigned char* next, int w, int h) {
  int x = threadIdx.x, y = blockIdx.x;
  int alive = 0;
  for (int dy = -1; dy <= 1; dy++) {
    for (int dx = -1; dx <= 1; dx++) {
      if (dx || dy) alive += now[(y + dy + h) % h * w + (x + dx + w) % w];
    }
  }
  next[y * w + x] = alive == 3 || (alive == 2 && now[y * w + x]);
}

int main() {
  const int w = 64, h = 48;
  unsigned char *a, *b;
  CHECK(cudaMallocManaged(&a, w * h));
  CHECK(cudaMallocManaged(&b, w * h));
  for (int i = 0; i < w * h; i++) a[i] = (i * 7 / 3) % 3 == 0;
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  for (int gen = 0; gen < 4; gen++) {
    hold(s);
    life<<<h, w, 0, s>>>(a, b, w, h);
    CHECK(cudaStreamSynchronize(s));
    unsigned char* t = a;
    a = b;
    b = t;
    a[gen] = 1;
  }
  report(a, w * h);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return 0;
}
