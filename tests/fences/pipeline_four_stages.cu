// SPDX-License-Identifier: Apache-2.0
// Load, decode, filter and store, each in its stream, over a ring of two
// buffers per stage.
#include "hold.h"
#include <vector>

__global__ void decode(const unsigned char* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 257;
}

__global__ void filter(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] - (i ? in[i - 1] : 0);
}

struct Station {
  cudaStream_t stream;
  cudaEvent_t done[2];
  Station() {
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (cudaEvent_t& e : done) CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  }
  void waits_for(const Station& other, int slot) {
    CHECK(cudaStreamWaitEvent(stream, other.done[slot], 0));
  }
  void finished(int slot) { CHECK(cudaEventRecord(done[slot], stream)); }
};

int main() {
  const int n = 4096, frames = 7;
  unsigned char *h, *raw[2];
  int *img[2], *res[2], *out;
  CHECK(cudaMallocHost(&h, frames * n));
  CHECK(cudaMallocHost(&out, frames * n * sizeof(int)));
  for (int i = 0; i < frames * n; i++) h[i] = (unsigned char)(i * 5 + i / n);
  for (int k = 0; k < 2; k++) {
    CHECK(cudaMalloc(&raw[k], n));
    CHECK(cudaMalloc(&img[k], n * sizeof(int)));
    CHECK(cudaMalloc(&res[k], n * sizeof(int)));
  }
  Station load, dec, fil, store;
  for (int f = 0; f < frames; f++) {
    int k = f & 1;
    load.waits_for(dec, k);
    CHECK(cudaMemcpyAsync(raw[k], h + f * n, n, cudaMemcpyHostToDevice, load.stream));
    load.finished(k);
    dec.waits_for(load, k);
    dec.waits_for(fil, k);
    if (f == 2) hold(dec.stream);
    decode<<<n / 256, 256, 0, dec.stream>>>(raw[k], img[k], n);
    dec.finished(k);
    fil.waits_for(dec, k);
    fil.waits_for(store, k);
    filter<<<n / 256, 256, 0, fil.stream>>>(img[k], res[k], n);
    fil.finished(k);
    store.waits_for(fil, k);
    CHECK(cudaMemcpyAsync(out + f * n, res[k], n * 4, cudaMemcpyDeviceToHost, store.stream));
    store.finished(k);
  }
  CHECK(cudaStreamSynchronize(store.stream));
  report(out, frames * n * sizeof(int));
  return 0;
}
