// SPDX-License-Identifier: Apache-2.0
// One stream produces slots and raises a flag behind each, another adds them up. No event orders
// the two: the consumer's kernel is meant to wait for the flag, and does not.
// The fix reads the flag until it is raised, and the slot then: kernels that tell each other by
// memory need no event.
#include "app.h"
#include "hold.h"

static const int SLOTS = 10;
static const size_t SLOT_SIZE = 1 << 12, SIZE = SLOTS * SLOT_SIZE;

namespace cufence
{

__global__ void fill_and_raise(unsigned long long spin_ns, float *data, size_t n, float value,
	volatile unsigned *flag)
{
	unsigned long long start = device_ns();

	for (size_t i = threadIdx.x; i < n; i += blockDim.x)
		data[i] = value;
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		*flag = 1;
	hold(start, spin_ns);
}

__global__ void add_raised(unsigned long long spin_ns, const float *in, float *sum, size_t n,
	const volatile unsigned *flag)
{
	unsigned long long start = device_ns();

#ifdef FIXED
	if (threadIdx.x == 0)
		while (!*flag)
			;
	__syncthreads();
	__threadfence();
#endif
	for (size_t i = threadIdx.x; i < n; i += blockDim.x)
		sum[i] += in[i];
	hold(start, spin_ns);
}

} // namespace cufence

static NOINLINE void produce(float *slot, unsigned *flag, cudaStream_t stream)
{
	cufence::fill_and_raise<<<1, 256, 0, stream>>>(MILLISECOND / 2, slot, SLOT_SIZE, 3, flag);
	CHECK(cudaGetLastError());
}

static NOINLINE void consume(const float *slot, float *sum, const unsigned *flag,
	cudaStream_t stream)
{
	cufence::add_raised<<<1, 256, 0, stream>>>(MILLISECOND / 4, slot, sum, SLOT_SIZE, flag);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t producer = new_stream(), consumer = new_stream();
	float *slots = device_floats(SIZE, 0), *sums = device_floats(SIZE, 0);
	struct cudaFuncAttributes attributes;
	unsigned *flags;

	CHECK(cudaFuncGetAttributes(&attributes, (const void *)cufence::fill_and_raise));
	CHECK(cudaFuncGetAttributes(&attributes, (const void *)cufence::add_raised));
	CHECK(cudaMalloc(&flags, SLOTS * sizeof(*flags)));
	CHECK(cudaMemset(flags, 0, SLOTS * sizeof(*flags)));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < SLOTS; i++) {
		produce(slots + i * SLOT_SIZE, flags + i, producer);
		consume(slots + i * SLOT_SIZE, sums + i * SLOT_SIZE, flags + i, consumer);
	}
	CHECK(cudaDeviceSynchronize());
	print_device("sums", sums, SIZE);
	return 0;
}
