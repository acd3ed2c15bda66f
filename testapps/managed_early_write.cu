// SPDX-License-Identifier: Apache-2.0
// The host writes managed memory that a pending kernel still uses: one reads it, one was given it
// in a functor that captures the pointer, and a copy to the device reads it.  That kernels and host
// read the same memory at a time is no mistake, nor is the use of another part of it.
// The fix waits for the stream before the host writes.
#include "app.h"
#include "hold.h"

static const size_t SIZE = 1 << 13, BYTES = SIZE * sizeof(float);

struct Scaled {
	const float *in;
	float *out;
	float factor;

	__device__ void operator()(size_t i) const
	{
		out[i] = in[i] * factor;
	}
};

template <class Function>
__global__ void for_each(unsigned long long spin_ns, Function function, size_t n)
{
	cufence::hold(cufence::device_ns(), spin_ns);
	for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		function(i);
}

static float *managed_floats(float value)
{
	float *data;

	CHECK(cudaMallocManaged(&data, BYTES));
	for (size_t i = 0; i < SIZE; i++)
		data[i] = value;
	return data;
}

static void wait(cudaStream_t stream)
{
#ifdef FIXED
	CHECK(cudaStreamSynchronize(stream));
#endif
}

static NOINLINE void add_up(const float *in, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND, in, sum, SIZE);
	CHECK(cudaGetLastError());
	wait(stream);
}

static NOINLINE void apply(const float *in, float *out, cudaStream_t stream)
{
	for_each<<<8, 256, 0, stream>>>(MILLISECOND, Scaled{ in, out, 2 }, SIZE);
	CHECK(cudaGetLastError());
	wait(stream);
}

static NOINLINE void upload(float *device, const float *in, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(device, in, BYTES, cudaMemcpyDefault, stream));
	wait(stream);
}

static NOINLINE void write_input(volatile float *in)
{
	in[100] = 5;
}

static NOINLINE void write_captured(volatile float *in)
{
	in[200] = 5;
}

static NOINLINE void write_source(volatile float *in)
{
	in[300] = 5;
}

/* The kernel uses the first half. */
static NOINLINE void write_other_part(volatile float *in)
{
	in[SIZE - 100] = 5;
}

static NOINLINE double read_input(const volatile float *in)
{
	/* A page other than the one written: after a read a protection key permits writes, too. */
	return in[SIZE - 100];
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *device = device_floats(SIZE, 0), *sum = device_floats(SIZE, 0);
	float *in[4];
	double read;

	for (float *&one : in)
		one = managed_floats(1);
	for_each<<<1, 1, 0, stream>>>(0, Scaled{ device, sum, 1 }, 1);
	CHECK(cudaDeviceSynchronize());
	add_up(in[0], sum, stream);
	read = read_input(in[0]);
	write_input(in[0]);
	CHECK(cudaDeviceSynchronize());
	apply(in[1], device, stream);
	write_captured(in[1]);
	CHECK(cudaDeviceSynchronize());
	upload(device, in[2], stream);
	write_source(in[2]);
	CHECK(cudaDeviceSynchronize());
	cufence::scale<<<8, 256, 0, stream>>>(MILLISECOND, in[3], SIZE / 2, 2);
	write_other_part(in[3]);
	printf("read: %.1f\n", read);
	print_device("sum", sum, SIZE);
	return 0;
}
