// SPDX-License-Identifier: Apache-2.0
// Memory allocated in one stream, used in another after an event, released in
// the first after another event.
#include "hold.h"

__global__ void init(float* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i;
}

__global__ void root(float* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = sqrtf(p[i]);
}

class Scope {
 public:
  Scope() {
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  }
  void after(Scope& other) {
    CHECK(cudaEventRecord(other.e, other.s));
    CHECK(cudaStreamWaitEvent(s, other.e, 0));
  }
  cudaStream_t s;
  cudaEvent_t e;
};

int main() {
  Scope a, b;
  const int n = 1 << 14;
  float* h;
  CHECK(cudaMallocHost(&h, n * sizeof(float)));
  float sum[n / 64];
  for (int round = 0; round < 3; round++) {
    float* p;
    CHECK(cudaMallocAsync(&p, n * sizeof(float), a.s));
    init<<<n / 256, 256, 0, a.s>>>(p, n);
    b.after(a);
    hold(b.s);
    root<<<n / 256, 256, 0, b.s>>>(p, n);
    CHECK(cudaMemcpyAsync(h, p, n * sizeof(float), cudaMemcpyDeviceToHost, b.s));
    a.after(b);
    CHECK(cudaFreeAsync(p, a.s));
  }
  CHECK(cudaStreamSynchronize(a.s));
  for (int i = 0; i < n / 64; i++) sum[i] = h[i * 64];
  report(sum, sizeof sum);
  return 0;
}
