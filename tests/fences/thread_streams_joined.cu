// SPDX-License-Identifier: Apache-2.0
// A thread launches in its per-thread default stream; the main thread, when
// the thread has ended, goes on in its own.
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

typedef struct {
  int *a, *b, n;
} Work;

static void* producer(void* arg) {
  Work* w = (Work*)arg;
  hold(cudaStreamPerThread);
  generate<<<w->n / 256, 256, 0, cudaStreamPerThread>>>(w->a, w->n);
  CHECK(cudaGetLastError());
  return NULL;
}

int main() {
  Work w = {NULL, NULL, 1 << 14};
  CHECK(cudaMalloc(&w.a, w.n * sizeof(int)));
  CHECK(cudaMalloc(&w.b, w.n / 2 * sizeof(int)));
  CHECK(cudaMemset(w.a, 0, w.n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());

  pthread_t t;
  pthread_create(&t, NULL, producer, &w);
  pthread_join(t, NULL);
  fold<<<w.n / 512, 256, 0, cudaStreamPerThread>>>(w.a, w.b, w.n);

  int* h = (int*)malloc(w.n / 2 * sizeof(int));
  size_t half = w.n / 2 * sizeof(int);
  CHECK(cudaMemcpyAsync(h, w.b, half, cudaMemcpyDeviceToHost, cudaStreamPerThread));
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  report(h, half);
  CHECK(cudaDeviceSynchronize());
  free(h);
  return 0;
}
