// SPDX-License-Identifier: Apache-2.0
// A ring buffer is mapped twice, one mapping behind the other, so that nothing wraps around in it.
// A kernel writes by one address and another one, in another stream, reads by the other: these are
// the same bytes, though no address says so.
// The fix records an event after the first, and the second one's stream waits for it.
#include "app.h"

#include <cuda.h>

static const int STEPS = 8;
static const size_t SIZE = 1 << 14;

/* Calls of the driver, which the programs here are not linked with. */
#define DRIVER(name, ...) \
	do { \
		cudaDriverEntryPointQueryResult found_; \
		decltype(&name) call_; \
		CHECK(cudaGetDriverEntryPointByVersion(#name, (void **)&call_, 12040, \
			cudaEnableDefault, &found_)); \
		CUresult error_ = call_(__VA_ARGS__); \
		if (error_ != CUDA_SUCCESS) { \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #name, error_); \
			exit(1); \
		} \
	} while (0)

static NOINLINE void map_at(CUdeviceptr address, size_t bytes, CUmemGenericAllocationHandle memory)
{
	CUmemAccessDesc access = {};

	access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	DRIVER(cuMemMap, address, bytes, 0, memory, 0);
	DRIVER(cuMemSetAccess, address, bytes, &access, 1);
}

/* The same memory at two addresses, which are bytes apart. */
static float *map_ring(size_t *bytes)
{
	CUmemGenericAllocationHandle memory;
	CUmemAllocationProp properties = {};
	CUdeviceptr ring;

	properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	DRIVER(cuMemGetAllocationGranularity, bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	DRIVER(cuMemCreate, &memory, *bytes, &properties, 0);
	DRIVER(cuMemAddressReserve, &ring, 2 * *bytes, 0, 0, 0);
	map_at(ring, *bytes, memory);
	map_at(ring + *bytes, *bytes, memory);
	DRIVER(cuMemRelease, memory);
	return (float *)ring;
}

static NOINLINE void produce(float *items, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND, items, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void consume(const float *items, float *sums, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND, items, sums, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t producing = new_stream(), consuming = new_stream();
	cudaEvent_t produced = new_event(), consumed = new_event();
	float *sums = device_floats(SIZE, 0), *ring;
	size_t bytes;

	CHECK(cudaFree(0));
	ring = map_ring(&bytes);
	CHECK(cudaMemsetAsync(ring, 0, bytes, producing));
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
#ifdef FIXED
		CHECK(cudaStreamWaitEvent(producing, consumed, 0));
#endif
		produce(ring, producing);
#ifdef FIXED
		CHECK(cudaEventRecord(produced, producing));
		CHECK(cudaStreamWaitEvent(consuming, produced, 0));
#endif
		consume(ring + bytes / sizeof(float), sums, consuming);
#ifdef FIXED
		CHECK(cudaEventRecord(consumed, consuming));
#endif
	}
	print_device("sums", sums, SIZE);
	CHECK(cudaEventDestroy(produced));
	CHECK(cudaEventDestroy(consumed));
	return 0;
}
