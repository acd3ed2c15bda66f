// SPDX-License-Identifier: Apache-2.0
// Two threads, each with its per-thread default stream: one asks for an array under a mutex, the
// other one fills it and says so, and the first one reads it.
#include "hold.h"
#include <condition_variable>
#include <mutex>
#include <thread>

enum { N = 1 << 14 };

__global__ void fill(int* a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) a[i] = i / 3 + 1;
}

__global__ void square(const int* a, int* b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) b[i] = a[i] * a[i];
}

static std::mutex lock;
static std::condition_variable changed;
static bool wanted, filled;

static void producer(int* a) {
  {
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [] { return wanted; });
  }
  hold(cudaStreamPerThread);
  fill<<<N / 256, 256, 0, cudaStreamPerThread>>>(a);
  {
    std::lock_guard<std::mutex> guard(lock);
    filled = true;
  }
  changed.notify_one();
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
}

static void consumer(const int* a, int* b, int* h) {
  CHECK(cudaMemsetAsync(b, 0, N * sizeof(int), cudaStreamPerThread));
  {
    std::unique_lock<std::mutex> guard(lock);
    wanted = true;
    changed.notify_one();
    changed.wait(guard, [] { return filled; });
  }
  square<<<N / 256, 256, 0, cudaStreamPerThread>>>(a, b);
  CHECK(cudaMemcpyAsync(h, b, N * sizeof(int), cudaMemcpyDeviceToHost, cudaStreamPerThread));
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
}

int main() {
  int *a, *b, *h;
  CHECK(cudaMalloc(&a, N * sizeof(int)));
  CHECK(cudaMalloc(&b, N * sizeof(int)));
  CHECK(cudaMallocHost(&h, N * sizeof(int)));
  CHECK(cudaMemset(a, 0, N * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  std::thread first(producer, a), second(consumer, a, b, h);
  first.join();
  second.join();
  report(h, N * sizeof(int));
  return 0;
}
