// SPDX-License-Identifier: Apache-2.0
// A kernel writes managed memory, and the host reads it before it has waited for the kernel: after
// nothing, after a query that said no, after an event and a synchronize of another stream, and
// after cudaMemset of device memory, which waits for nothing. That of managed memory waits.
// The fix waits for the stream before each read.
#include "app.h"

static const size_t SIZE = 1 << 12, BYTES = SIZE * sizeof(float);

static float *managed_floats(float value)
{
	float *data;

	CHECK(cudaMallocManaged(&data, BYTES));
	for (size_t i = 0; i < SIZE; i++)
		data[i] = value;
	return data;
}

static NOINLINE void produce(float *data, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND, data, SIZE, 3);
	CHECK(cudaGetLastError());
#ifdef FIXED
	CHECK(cudaStreamSynchronize(stream));
#endif
}

static NOINLINE double read_at_once(const volatile float *data)
{
	return data[100] + data[SIZE - 1];
}

static NOINLINE double read_after_query(const volatile float *data, cudaStream_t stream)
{
	int ready = cudaStreamQuery(stream) == cudaSuccess;

	return data[100] + 0 * ready;
}

static NOINLINE double read_after_other_event(const volatile float *data, cudaEvent_t other)
{
	CHECK(cudaEventSynchronize(other));
	return data[100];
}

static NOINLINE double read_after_other_stream(const volatile float *data, cudaStream_t other)
{
	CHECK(cudaStreamSynchronize(other));
	return data[100];
}

static NOINLINE double read_after_memset(const volatile float *data, float *device)
{
	CHECK(cudaMemset(device, 0, BYTES));
	return data[100];
}

static NOINLINE double read_cleared(float *data)
{
	CHECK(cudaMemset(data, 0, BYTES));
	return ((const volatile float *)data)[100];
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream(), other = new_stream();
	cudaEvent_t event = new_event();
	float *data[5], *device = device_floats(SIZE, 0);
	double sum = 0;

	for (float *&one : data)
		one = managed_floats(1);
	CHECK(cudaEventRecord(event, other));
	CHECK(cudaDeviceSynchronize());
	produce(data[0], stream);
	sum += read_at_once(data[0]);
	CHECK(cudaDeviceSynchronize());
	produce(data[1], stream);
	sum += read_after_query(data[1], stream);
	CHECK(cudaDeviceSynchronize());
	produce(data[2], stream);
	sum += read_after_other_event(data[2], event);
	CHECK(cudaDeviceSynchronize());
	produce(data[3], stream);
	sum += read_after_other_stream(data[3], other);
	CHECK(cudaDeviceSynchronize());
	produce(data[4], stream);
	sum += read_after_memset(data[4], device);
	CHECK(cudaDeviceSynchronize());
	sum += read_cleared(data[4]);
	CHECK(cudaDeviceSynchronize());
	printf("sum: %.6e\n", sum);
	return 0;
}
