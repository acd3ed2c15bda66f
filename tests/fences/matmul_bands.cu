// SPDX-License-Identifier: Apache-2.0
// C = A * B in bands of rows, one per stream; all wait for the upload of B.
#include "hold.h"

#define N 128
#define T 16

__global__ void band_product(const float* A, const float* B, float* C) {
  __shared__ float a[T][T], b[T][T];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float s = 0;
  for (int t = 0; t < N / T; t++) {
    a[threadIdx.y][threadIdx.x] = A[row * N + t * T + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = B[(t * T + threadIdx.y) * N + col];
    __syncthreads();
    for (int k = 0; k < T; k++) s += a[threadIdx.y][k] * b[k][threadIdx.x];
    __syncthreads();
  }
  C[row * N + col] = s;
}

int main() {
  const size_t bytes = N * N * sizeof(float);
  float *hA, *hB, *hC, *A, *B, *C;
  CHECK(cudaMallocHost(&hA, bytes));
  CHECK(cudaMallocHost(&hB, bytes));
  CHECK(cudaMallocHost(&hC, bytes));
  CHECK(cudaMalloc(&A, bytes));
  CHECK(cudaMalloc(&B, bytes));
  CHECK(cudaMalloc(&C, bytes));
  for (int i = 0; i < N * N; i++) {
    hA[i] = i % 5;
    hB[i] = i % 7;
  }
  const int bands = 4, rows = N / bands;
  cudaStream_t s[bands];
  for (int k = 0; k < bands; k++) CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
  cudaEvent_t have_b;
  CHECK(cudaEventCreateWithFlags(&have_b, cudaEventDisableTiming));
  hold(s[0]);
  CHECK(cudaMemcpyAsync(B, hB, bytes, cudaMemcpyHostToDevice, s[0]));
  CHECK(cudaEventRecord(have_b, s[0]));
  for (int k = 0; k < bands; k++) {
    const size_t off = k * rows * N, part = bytes / bands;
    CHECK(cudaMemcpyAsync(A + off, hA + off, part, cudaMemcpyHostToDevice, s[k]));
    CHECK(cudaStreamWaitEvent(s[k], have_b, 0));
    band_product<<<dim3(N / T, rows / T), dim3(T, T), 0, s[k]>>>(A + off, B, C + off);
    CHECK(cudaMemcpyAsync(hC + off, C + off, part, cudaMemcpyDeviceToHost, s[k]));
  }
  CHECK(cudaDeviceSynchronize());
  report(hC, bytes);
  return 0;
}
