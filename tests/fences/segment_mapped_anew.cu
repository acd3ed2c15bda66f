// SPDX-License-Identifier: Apache-2.0
// A segment of three pieces whose last one is given back and mapped anew, once the host knows that
// nobody uses it. Then two streams work on different pieces.
#include <cuda.h>

#include "hold.h"

#define DRIVER(call) \
  do { \
    CUresult error_ = (call); \
    if (error_ != CUDA_SUCCESS) { \
      fprintf(stderr, "%s:%d: %d\n", __FILE__, __LINE__, error_); \
      exit(1); \
    } \
  } while (0)

__global__ void fill(int* a, size_t n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = (int)(i % 12345);
}

static void grow(CUdeviceptr at, size_t piece) {
  CUmemGenericAllocationHandle memory;
  CUmemAllocationProp properties;
  memset(&properties, 0, sizeof properties);
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access;
  memset(&access, 0, sizeof access);
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  DRIVER(cuMemCreate(&memory, piece, &properties, 0));
  DRIVER(cuMemMap(at, piece, 0, memory, 0));
  DRIVER(cuMemSetAccess(at, piece, &access, 1));
  DRIVER(cuMemRelease(memory));
}

int main() {
  const size_t piece = 2 << 20, n = piece / sizeof(int);
  CUdeviceptr segment;
  int* h;
  CHECK(cudaMallocHost(&h, 3 * piece));
  DRIVER(cuMemAddressReserve(&segment, 16 * piece, 0, 0, 0));
  for (int i = 0; i < 3; i++) grow(segment + i * piece, piece);
  int* a = (int*)segment;

  cudaStream_t s, t;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  fill<<<3 * n / 256, 256, 0, s>>>(a, 3 * n);
  CHECK(cudaStreamSynchronize(s));
  DRIVER(cuMemUnmap(segment + 2 * piece, piece));
  grow(segment + 2 * piece, piece);

  hold(s);
  fill<<<2 * n / 256, 256, 0, s>>>(a, 2 * n);
  fill<<<n / 256, 256, 0, t>>>(a + 2 * n, n);
  for (int i = 0; i < 3; i++)
    CHECK(cudaMemcpyAsync(h + i * n, a + i * n, piece, cudaMemcpyDeviceToHost, i < 2 ? s : t));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaStreamSynchronize(s));
  report(h, 3 * piece);
  return 0;
}
