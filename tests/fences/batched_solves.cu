// SPDX-License-Identifier: Apache-2.0
// Thirty-two small systems in one array, dealt out to four streams; the kernel
// gets the number of its system.
#include "hold.h"

#define DIM 16
#define SYSTEMS 32

__global__ void solve(float* matrices, float* vectors, int which) {
  float* m = matrices + which * DIM * DIM;
  float* v = vectors + which * DIM;
  int r = threadIdx.x;
  for (int k = 0; k < DIM; k++) {
    __syncthreads();
    if (r > k) {
      float f = m[r * DIM + k] / m[k * DIM + k];
      for (int c = k; c < DIM; c++) m[r * DIM + c] -= f * m[k * DIM + c];
      v[r] -= f * v[k];
    }
  }
  for (int k = DIM - 1; k >= 0; k--) {
    __syncthreads();
    if (r == k) v[k] /= m[k * DIM + k];
    __syncthreads();
    if (r < k) v[r] -= m[r * DIM + k] * v[k];
  }
}

int main() {
  float *m, *v;
  static float hm[SYSTEMS * DIM * DIM], hv[SYSTEMS * DIM];
  for (int i = 0; i < SYSTEMS * DIM * DIM; i++) {
    int r = i / DIM % DIM, c = i % DIM;
    hm[i] = r == c ? 40.0f : (float)((i * 3) % 7);
  }
  for (int i = 0; i < SYSTEMS * DIM; i++) hv[i] = i % 13;
  CHECK(cudaMalloc(&m, sizeof hm));
  CHECK(cudaMalloc(&v, sizeof hv));
  CHECK(cudaMemcpy(m, hm, sizeof hm, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(v, hv, sizeof hv, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t s[4];
  for (cudaStream_t& x : s) CHECK(cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking));
  for (int k = 0; k < SYSTEMS; k++) {
    if (k == 5) hold(s[k % 4]);
    solve<<<1, DIM, 0, s[k % 4]>>>(m, v, k);
  }
  for (cudaStream_t x : s) CHECK(cudaStreamSynchronize(x));
  CHECK(cudaMemcpy(hv, v, sizeof hv, cudaMemcpyDeviceToHost));
  report(hv, sizeof hv);
  return 0;
}
