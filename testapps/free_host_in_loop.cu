// SPDX-License-Identifier: Apache-2.0
// Each chunk is uploaded from a pinned buffer that is allocated for it and freed as soon as the
// work is submitted. cudaFreeHost waits until the device is idle, since a copy may still read the
// buffer: the two streams never overlap.
// The fix allocates one pinned buffer for all chunks before the loop.
#include "app.h"

static const int CHUNKS = 20;
static const size_t CHUNK_SIZE = 1 << 14, CHUNK_BYTES = CHUNK_SIZE * sizeof(float);
static const size_t SIZE = CHUNKS * CHUNK_SIZE;

static NOINLINE void process(float *chunk, const float *staging, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(chunk, staging, CHUNK_BYTES, cudaMemcpyHostToDevice, stream));
	cufence::scale<<<8, 256, 0, stream>>>(2 * MILLISECOND, chunk, CHUNK_SIZE, 3);
	CHECK(cudaGetLastError());
}

static NOINLINE void free_staging(float *staging)
{
	CHECK(cudaFreeHost(staging));
}

static void run(float *chunks, const cudaStream_t *stream)
{
#ifdef FIXED
	float *staging = pinned_floats(SIZE);

	for (int i = 0; i < CHUNKS; i++)
		process(chunks + i * CHUNK_SIZE, staging + i * CHUNK_SIZE, stream[i % 2]);
	CHECK(cudaDeviceSynchronize());
	free_staging(staging);
#else
	for (int i = 0; i < CHUNKS; i++) {
		float *staging = pinned_floats(CHUNK_SIZE);

		process(chunks + i * CHUNK_SIZE, staging, stream[i % 2]);
		free_staging(staging);
	}
#endif
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *chunks = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	run(chunks, stream);
	print_device("chunks", chunks, SIZE);
	return 0;
}
