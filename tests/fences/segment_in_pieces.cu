// SPDX-License-Identifier: Apache-2.0
// A segment of memory that grows: three pieces of physical memory, mapped one after the other. A
// kernel fills all of it, and the last piece is copied to the host in another stream.
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
  const size_t piece = 2 << 20, bytes = 3 * piece, n = bytes / sizeof(int);
  CUdeviceptr segment;
  int* h;
  CHECK(cudaMallocHost(&h, piece));
  memset(h, 0, piece);
  DRIVER(cuMemAddressReserve(&segment, 16 * piece, 0, 0, 0));
  for (int i = 0; i < 3; i++) {
    grow(segment + i * piece, piece);
    CHECK(cudaMemset((void*)(segment + i * piece), 0, piece));
  }
  int *a = (int*)segment, *last = (int*)(segment + 2 * piece);
  CHECK(cudaDeviceSynchronize());

  cudaStream_t s, t;
  cudaEvent_t filled;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  hold(s);
  fill<<<n / 256, 256, 0, s>>>(a, n);
#ifndef UNORDERED
  CHECK(cudaEventRecord(filled, s));
  CHECK(cudaStreamWaitEvent(t, filled, 0));
#endif
  CHECK(cudaMemcpyAsync(h, last, piece, cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaStreamSynchronize(s));
  report(h, piece);
  return 0;
}
