// SPDX-License-Identifier: Apache-2.0
// A thread produces and signals through an atomic; the main thread consumes
// after an event of the producer.
#include "hold.h"
#include <atomic>
#include <thread>
#include <unistd.h>

__global__ void make(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i % 123 + 1;
}

__global__ void use(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = 1000 / (a[i] + 1);
}

static std::atomic<int> submitted(0);
static cudaEvent_t ready;
static cudaStream_t ps, cs;

static void producer(int* a, int n) {
  hold(ps);
  make<<<n / 256, 256, 0, ps>>>(a, n);
  submitted.store(1);
  usleep(20000);
  CHECK(cudaEventRecord(ready, ps));
}

int main() {
  const int n = 1 << 14;
  int *a, *b, *h = (int*)malloc(n * sizeof(int));
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMemset(a, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  CHECK(cudaStreamCreateWithFlags(&ps, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&cs, cudaStreamNonBlocking));
  std::thread t(producer, a, n);
  while (!submitted.load()) usleep(50);
  CHECK(cudaStreamWaitEvent(cs, ready, 0));
  use<<<n / 256, 256, 0, cs>>>(a, b, n);
  CHECK(cudaMemcpyAsync(h, b, n * sizeof(int), cudaMemcpyDeviceToHost, cs));
  CHECK(cudaStreamSynchronize(cs));
  t.join();
  report(h, n * sizeof(int));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
