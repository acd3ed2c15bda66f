// SPDX-License-Identifier: Apache-2.0
// C = A * B, the columns of C in two panels, a stream each.
#include "hold.h"

#define N 96

__global__ void panel(const int* A, const int* B, int* C, int first_col) {
  int row = blockIdx.x, col = first_col + threadIdx.x;
  int s = 0;
  for (int k = 0; k < N; k++) s += A[row * N + k] * B[k * N + col];
  C[row * N + col] = s;
}

static int* pinned_matrix(int mod) {
  int* m;
  CHECK(cudaMallocHost(&m, N * N * sizeof(int)));
  for (int i = 0; i < N * N; i++) m[i] = mod ? i % mod : 0;
  return m;
}

static int* device_matrix() {
  int* m;
  CHECK(cudaMalloc(&m, N * N * sizeof(int)));
  CHECK(cudaMemset(m, 0, N * N * sizeof(int)));
  return m;
}

int main() {
  const size_t bytes = N * N * sizeof(int);
  int *hA = pinned_matrix(11), *hB = pinned_matrix(13), *hC = pinned_matrix(0);
  int *A = device_matrix(), *B = device_matrix(), *C = device_matrix();
  CHECK(cudaMemcpy(A, hA, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[2];
  CHECK(cudaStreamCreateWithFlags(&s[0], cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&s[1], cudaStreamNonBlocking));
  hold(s[0]);
  CHECK(cudaMemcpyAsync(B, hB, bytes, cudaMemcpyHostToDevice, s[0]));
  panel<<<N, N / 2, 0, s[0]>>>(A, B, C, 0);
  panel<<<N, N / 2, 0, s[1]>>>(A, B, C, N / 2);
  CHECK(cudaStreamSynchronize(s[0]));
  CHECK(cudaStreamSynchronize(s[1]));
  CHECK(cudaMemcpy(hC, C, bytes, cudaMemcpyDeviceToHost));
  report(hC, bytes);
  return 0;
}
