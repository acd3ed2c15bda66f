// SPDX-License-Identifier: Apache-2.0
// Two producers that share one event.
#include "hold.h"

__global__ void encode(unsigned* t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) t[i] = i * 2654435761u;
}

__global__ void clear_mask(unsigned char* m, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) m[i] = i & 1;
}

__global__ void select(const unsigned* t, const unsigned char* m, unsigned* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = m[i] ? t[i] : ~t[i];
}

int main() {
  const int n = 4096;
  unsigned *t, *o, h[n];
  unsigned char* m;
  CHECK(cudaMalloc(&t, sizeof h));
  CHECK(cudaMalloc(&o, sizeof h));
  CHECK(cudaMalloc(&m, n));
  CHECK(cudaMemset(t, 0, sizeof h));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t enc, aux, out;
  for (cudaStream_t* s : {&enc, &aux, &out}) {
    CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  }
  cudaEvent_t e;
  CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));

  hold(enc);
  encode<<<n / 256, 256, 0, enc>>>(t, n);
  CHECK(cudaEventRecord(e, enc));
  clear_mask<<<n / 256, 256, 0, aux>>>(m, n);
  CHECK(cudaEventRecord(e, aux));
  CHECK(cudaStreamWaitEvent(out, e, 0));
  select<<<n / 256, 256, 0, out>>>(t, m, o, n);
  CHECK(cudaMemcpyAsync(h, o, sizeof h, cudaMemcpyDeviceToHost, out));
  CHECK(cudaStreamSynchronize(out));
  report(h, sizeof h);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
