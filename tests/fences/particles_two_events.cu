// SPDX-License-Identifier: Apache-2.0
// Forces of particles in one stream, their positions in another.
#include "hold.h"

typedef struct {
  float *pos, *vel, *force;
  int n;
} Particles;

__global__ void forces(Particles p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n) p.force[i] = 1.0f + (i % 13);
}

__global__ void move(Particles p, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  p.vel[i] += dt * p.force[i];
  p.pos[i] += dt * p.vel[i];
}

int main(void) {
  Particles p;
  p.n = 20000;
  size_t bytes = p.n * sizeof(float);
  CHECK(cudaMalloc(&p.pos, bytes));
  CHECK(cudaMalloc(&p.vel, bytes));
  CHECK(cudaMalloc(&p.force, bytes));
  CHECK(cudaMemset(p.pos, 0, bytes));
  CHECK(cudaMemset(p.vel, 0, bytes));
  CHECK(cudaMemset(p.force, 0, bytes));
  CHECK(cudaDeviceSynchronize());
  float* out;
  CHECK(cudaHostAlloc(&out, bytes, cudaHostAllocDefault));

  cudaStream_t sf, sm;
  CHECK(cudaStreamCreateWithFlags(&sf, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&sm, cudaStreamNonBlocking));
  cudaEvent_t forced, moved;
  CHECK(cudaEventCreate(&forced));
  CHECK(cudaEventCreate(&moved));

  int blocks = (p.n + 127) / 128;
  hold(sf);
  forces<<<blocks, 128, 0, sf>>>(p);
  CHECK(cudaEventRecord(moved, sf));
  CHECK(cudaStreamWaitEvent(sm, forced, 0));
  move<<<blocks, 128, 0, sm>>>(p, 0.5f);
  CHECK(cudaMemcpyAsync(out, p.pos, bytes, cudaMemcpyDeviceToHost, sm));
  CHECK(cudaStreamSynchronize(sm));
  report(out, bytes);
  CHECK(cudaStreamSynchronize(sf));
  return 0;
}
