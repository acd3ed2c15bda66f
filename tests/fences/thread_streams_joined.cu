// SPDX-License-Identifier: Apache-2.0
// A thread launches in its per-thread default stream; the main thread goes on in its own when the
// thread is done. It lives on: what becomes of the stream of a thread that ends is CUDA's affair.
#include "hold.h"
#include <pthread.h>

__global__ void generate(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = (i * 1103515245 + 12345) >> 8;
}

__global__ void fold(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2) b[i] = a[i] ^ a[n - 1 - i];
}

typedef struct { int *a, *b, n; } Work;
static pthread_barrier_t done, end;


static void* producer(void* arg) {
  Work* w = (Work*)arg;
  hold(cudaStreamPerThread);
  generate<<<w->n / 256, 256, 0, cudaStreamPerThread>>>(w->a, w->n);
  pthread_barrier_wait(&done);
  return pthread_barrier_wait(&end), (void*)NULL;
}

int main() {
  Work w = {NULL, NULL, 1 << 14};
  CHECK(cudaMalloc(&w.a, w.n * sizeof(int)));
  CHECK(cudaMalloc(&w.b, w.n / 2 * sizeof(int)));
  CHECK(cudaMemsetAsync(w.a, 0, w.n * sizeof(int), cudaStreamPerThread));
  CHECK(cudaDeviceSynchronize());
  pthread_barrier_init(&done, NULL, 2), pthread_barrier_init(&end, NULL, 2);
  pthread_t t;
  pthread_create(&t, NULL, producer, &w);
  pthread_barrier_wait(&done);
  fold<<<w.n / 512, 256, 0, cudaStreamPerThread>>>(w.a, w.b, w.n);

  int* h = (int*)malloc(w.n / 2 * sizeof(int));
  size_t half = w.n / 2 * sizeof(int);
  CHECK(cudaMemcpyAsync(h, w.b, half, cudaMemcpyDeviceToHost, cudaStreamPerThread));
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  report(h, half);
  CHECK(cudaDeviceSynchronize());
  pthread_barrier_wait(&end), pthread_join(t, NULL);
  free(h);
  return 0;
}
