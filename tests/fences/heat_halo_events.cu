// SPDX-License-Identifier: Apache-2.0
// Heat in a bar of two halves, each with a stream and two buffers; the halo
// cells go over by copies, with events both ways.
#include "hold.h"

#define CELLS 1024

struct Half {
  int *now, *next;
  cudaStream_t s;
  cudaEvent_t stepped, fetched;
};

__global__ void diffuse(const int* in, int* out) {
  int i = 1 + blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = (in[i - 1] + 2 * in[i] + in[i + 1]) / 4;
}

int main() {
  const size_t bytes = (CELLS + 2) * sizeof(int);
  static int host[CELLS + 2];
  for (int i = 0; i < CELLS + 2; i++) host[i] = i * 37 % 5000;
  Half h[2];
  for (Half& x : h) {
    CHECK(cudaMalloc(&x.now, bytes));
    CHECK(cudaMalloc(&x.next, bytes));
    CHECK(cudaMemcpy(x.now, host, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(x.next, host, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaStreamCreateWithFlags(&x.s, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&x.stepped, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&x.fetched, cudaEventDisableTiming));
  }
  CHECK(cudaDeviceSynchronize());
  for (int step = 0; step < 6; step++) {
    for (int k = 0; k < 2; k++) {
      CHECK(cudaStreamWaitEvent(h[k].s, h[1 - k].fetched, 0));
      if (step == 2 && k == 1) hold(h[k].s);
      diffuse<<<CELLS / 256, 256, 0, h[k].s>>>(h[k].now, h[k].next);
      CHECK(cudaEventRecord(h[k].stepped, h[k].s));
    }
    for (int k = 0; k < 2; k++) {
      Half &me = h[k], &other = h[1 - k];
      int* halo = k ? me.next : me.next + CELLS + 1;
      const int* edge = k ? other.next + CELLS : other.next + 1;
      CHECK(cudaStreamWaitEvent(me.s, other.stepped, 0));
      CHECK(cudaMemcpyAsync(halo, edge, sizeof(int), cudaMemcpyDeviceToDevice, me.s));
      CHECK(cudaEventRecord(me.fetched, me.s));
    }
    for (Half& x : h) {
      int* t = x.now;
      x.now = x.next;
      x.next = t;
    }
  }
  static int result[2 * (CELLS + 2)];
  for (int k = 0; k < 2; k++) {
    CHECK(cudaStreamSynchronize(h[k].s));
    CHECK(cudaMemcpy(result + k * (CELLS + 2), h[k].now, bytes, cudaMemcpyDeviceToHost));
  }
  report(result, sizeof result);
  return 0;
}
