// SPDX-License-Identifier: Apache-2.0
// cudaMemcpy from pageable memory returns when the source has been read, which is not when the
// data has arrived: the last part is still on its way from a staging buffer. A kernel in a
// non-blocking stream, launched next, is not ordered after it and finds the old data there.
// The fix lets the stream wait for the legacy stream, where the copy goes, before the launch.
#include "app.h"

static const int CHUNKS = 20;
static const size_t CHUNK_SIZE = 1100 * 1024 / sizeof(float), SIZE = CHUNKS * CHUNK_SIZE;

static NOINLINE void upload(float *chunk, const float *input, cudaEvent_t copied,
	cudaStream_t stream)
{
	CHECK(cudaMemcpy(chunk, input, CHUNK_SIZE * sizeof(float), cudaMemcpyHostToDevice));
#ifdef FIXED
	CHECK(cudaEventRecord(copied, cudaStreamLegacy));
	CHECK(cudaStreamWaitEvent(stream, copied, 0));
#else
	(void)copied;
	(void)stream;
#endif
}

static NOINLINE void add_up(const float *chunk, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<512, 256, 0, stream>>>(0, chunk, sum, CHUNK_SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	static float input[CHUNK_SIZE];
	load_kernels();
	cudaStream_t stream = new_stream();
	cudaEvent_t copied = new_event();
	float *chunks = device_floats(SIZE, 0), *sums = device_floats(SIZE, 0);

	for (size_t i = 0; i < CHUNK_SIZE; i++)
		input[i] = (float)(i % 1000 + 1);
	CHECK(cudaDeviceSynchronize());
	for (size_t i = 0; i < SIZE; i += CHUNK_SIZE) {
		upload(chunks + i, input, copied, stream);
		add_up(chunks + i, sums + i, stream);
	}
	print_device("sums", sums, SIZE);
	return 0;
}
