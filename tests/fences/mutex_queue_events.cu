// SPDX-License-Identifier: Apache-2.0
// A thread makes items and puts each into a queue with the event that is recorded after it; the
// main thread takes them out.
#include "hold.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

enum { N = 1 << 12, ITEMS = 6 };

struct Item {
  int* data;
  cudaEvent_t ready;
};

__global__ void make(int* item, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) item[i] = k * 100 + i;
}

__global__ void add(const int* item, int* sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) sum[i] += item[i];
}

static std::mutex lock;
static std::condition_variable more;
static std::deque<Item> queue;
static Item items[ITEMS];

static void producer() {
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  for (int k = 0; k < ITEMS; k++) {
    if (k == 2) hold(s);
    make<<<N / 256, 256, 0, s>>>(items[k].data, k);
    CHECK(cudaEventRecord(items[k].ready, s));
    std::lock_guard<std::mutex> guard(lock);
    queue.push_back(items[k]);
    more.notify_one();
  }
  CHECK(cudaStreamSynchronize(s));
}

int main() {
  int *sum, *h;
  CHECK(cudaMalloc(&sum, N * sizeof(int)));
  CHECK(cudaMallocHost(&h, N * sizeof(int)));
  CHECK(cudaMemset(sum, 0, N * sizeof(int)));
  for (int k = 0; k < ITEMS; k++) {
    CHECK(cudaMalloc(&items[k].data, N * sizeof(int)));
    CHECK(cudaEventCreateWithFlags(&items[k].ready, cudaEventDisableTiming));
  }
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  std::thread thread(producer);
  for (int k = 0; k < ITEMS; k++) {
    std::unique_lock<std::mutex> guard(lock);
    more.wait(guard, [] { return !queue.empty(); });
    Item item = queue.front();
    queue.pop_front();
    guard.unlock();
    CHECK(cudaStreamWaitEvent(s, item.ready, 0));
    add<<<N / 256, 256, 0, s>>>(item.data, sum);
  }
  CHECK(cudaMemcpyAsync(h, sum, N * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  thread.join();
  report(h, N * sizeof(int));
  return 0;
}
