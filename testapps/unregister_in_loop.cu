// SPDX-License-Identifier: Apache-2.0
// A library is handed ordinary memory. It pins each chunk for the copy and unpins it when the work
// is submitted; cudaHostUnregister waits until the device is idle, since a copy may still use the
// memory: the two streams never overlap.
// The fix pins all of it once, around the loop.
#include "app.h"

static const int CHUNKS = 20;
static const size_t CHUNK_SIZE = 1 << 14, CHUNK_BYTES = CHUNK_SIZE * sizeof(float);
static const size_t SIZE = CHUNKS * CHUNK_SIZE;

alignas(4096) static float input[SIZE];

static NOINLINE void pin(float *data, size_t bytes)
{
	CHECK(cudaHostRegister(data, bytes, cudaHostRegisterDefault));
}

static NOINLINE void unpin(float *data)
{
	CHECK(cudaHostUnregister(data));
}

static NOINLINE void process(float *chunk, const float *data, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(chunk, data, CHUNK_BYTES, cudaMemcpyHostToDevice, stream));
	cufence::scale<<<8, 256, 0, stream>>>(2 * MILLISECOND, chunk, CHUNK_SIZE, 3);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *chunks = device_floats(SIZE, 0);

	for (size_t i = 0; i < SIZE; i++)
		input[i] = (float)(i % 1000);
	CHECK(cudaDeviceSynchronize());
#ifdef FIXED
	pin(input, sizeof(input));
#endif
	for (int i = 0; i < CHUNKS; i++) {
#ifndef FIXED
		pin(input + i * CHUNK_SIZE, CHUNK_BYTES);
#endif
		process(chunks + i * CHUNK_SIZE, input + i * CHUNK_SIZE, stream[i % 2]);
#ifndef FIXED
		unpin(input + i * CHUNK_SIZE);
#endif
	}
	print_device("chunks", chunks, SIZE);
#ifdef FIXED
	unpin(input);
#endif
	return 0;
}
