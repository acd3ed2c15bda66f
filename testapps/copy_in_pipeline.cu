// SPDX-License-Identifier: Apache-2.0
// Chunks go through two streams in turn, but come to the device by cudaMemcpy. It goes to the
// legacy default stream, so it waits for the kernels of both streams, and the host waits for it:
// while one stream computes, the other gets no work.
// The fix copies with cudaMemcpyAsync, in the chunk's stream, from pinned memory.
#include "app.h"

static const int CHUNKS = 20;
static const size_t CHUNK_SIZE = 1 << 16, CHUNK_BYTES = CHUNK_SIZE * sizeof(float);
static const size_t SIZE = CHUNKS * CHUNK_SIZE;

static NOINLINE void upload(float *chunk, const float *input, cudaStream_t stream)
{
#ifdef FIXED
	CHECK(cudaMemcpyAsync(chunk, input, CHUNK_BYTES, cudaMemcpyHostToDevice, stream));
#else
	CHECK(cudaMemcpy(chunk, input, CHUNK_BYTES, cudaMemcpyHostToDevice));
#endif
}

static NOINLINE void process(float *chunk, cudaStream_t stream)
{
	cufence::scale<<<8, 256, 0, stream>>>(2 * MILLISECOND, chunk, CHUNK_SIZE, 3);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(cudaStreamDefault), new_stream(cudaStreamDefault) };
	float *input = pinned_floats(SIZE), *chunks = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < CHUNKS; i++) {
		upload(chunks + i * CHUNK_SIZE, input + i * CHUNK_SIZE, stream[i % 2]);
		process(chunks + i * CHUNK_SIZE, stream[i % 2]);
	}
	print_device("chunks", chunks, SIZE);
	return 0;
}
