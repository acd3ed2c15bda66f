// SPDX-License-Identifier: Apache-2.0
// Bodies with two buffers of positions; every step's positions go to the host
// in a stream of their own.
#include "hold.h"

#define BODIES 512
#define STEPS 4

__global__ void step_bodies(const float2* in, float2* out, float2* vel, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float2 p = in[i], f = make_float2(0, 0);
  for (int j = 0; j < BODIES; j++) {
    float dx = in[j].x - p.x, dy = in[j].y - p.y;
    float inv = 1.0f / (dx * dx + dy * dy + 0.01f);
    f.x += dx * inv;
    f.y += dy * inv;
  }
  vel[i].x += dt * f.x;
  vel[i].y += dt * f.y;
  out[i] = make_float2(p.x + dt * vel[i].x, p.y + dt * vel[i].y);
}

int main() {
  const size_t bytes = BODIES * sizeof(float2);
  float2 *pos[2], *vel, *shots;
  CHECK(cudaMallocHost(&shots, STEPS * bytes));
  for (int i = 0; i < BODIES; i++) shots[i] = make_float2(i % 32, i / 32);
  CHECK(cudaMalloc(&pos[0], bytes));
  CHECK(cudaMalloc(&pos[1], bytes));
  CHECK(cudaMalloc(&vel, bytes));
  CHECK(cudaMemcpy(pos[0], shots, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(vel, 0, bytes));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t sim, copy;
  CHECK(cudaStreamCreateWithFlags(&sim, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
  cudaEvent_t moved;
  CHECK(cudaEventCreateWithFlags(&moved, cudaEventDisableTiming));
  for (int k = 0; k < STEPS; k++) {
    const float2* from = pos[k & 1];
    float2* to = pos[1 - (k & 1)];
    step_bodies<<<BODIES / 128, 128, 0, sim>>>(from, to, vel, 0.01f);
    CHECK(cudaEventRecord(moved, sim));
    CHECK(cudaStreamWaitEvent(copy, moved, 0));
    if (k == 0) hold(copy);
    CHECK(cudaMemcpyAsync(shots + k * BODIES, to, bytes, cudaMemcpyDeviceToHost, copy));
  }
  CHECK(cudaStreamSynchronize(copy));
  report(shots, STEPS * bytes);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
