// SPDX-License-Identifier: Apache-2.0
// Chunks go through two streams in turn: copied in, scaled, copied out. The output comes from
// malloc, and cudaMemcpyAsync to pageable memory is asynchronous by name only: it returns when
// the copy is done, so it first waits for the kernel before it. The host submits the next chunk
// only then, and the two streams never overlap.
// The fix allocates the output with cudaMallocHost.
#include "app.h"

static const int CHUNKS = 24, STREAMS = 2;
static const size_t CHUNK_SIZE = 1 << 16, CHUNK_BYTES = CHUNK_SIZE * sizeof(float);

struct lane {
	float *device;
	cudaStream_t stream;
};

static float *allocate_output()
{
	float *output;

#ifdef FIXED
	CHECK(cudaMallocHost(&output, CHUNKS * CHUNK_BYTES));
#else
	output = (float *)malloc(CHUNKS * CHUNK_BYTES);
	if (!output) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
#endif
	return output;
}

static void free_output(float *output)
{
#ifdef FIXED
	CHECK(cudaFreeHost(output));
#else
	free(output);
#endif
}

static NOINLINE void copy_in(const struct lane *lane, const float *input)
{
	float *chunk = lane->device;

	CHECK(cudaMemcpyAsync(chunk, input, CHUNK_BYTES, cudaMemcpyHostToDevice, lane->stream));
}

static NOINLINE void launch_scale(const struct lane *lane)
{
	cufence::scale<<<8, 256, 0, lane->stream>>>(2 * MILLISECOND, lane->device, CHUNK_SIZE, 3);
	CHECK(cudaGetLastError());
}

static NOINLINE void copy_out(const struct lane *lane, float *output)
{
	const float *chunk = lane->device;

	CHECK(cudaMemcpyAsync(output, chunk, CHUNK_BYTES, cudaMemcpyDeviceToHost, lane->stream));
}

static void process_chunks(const struct lane *lanes, const float *input, float *output)
{
	for (int i = 0; i < CHUNKS; i++) {
		const struct lane *lane = &lanes[i % STREAMS];

		copy_in(lane, input + i * CHUNK_SIZE);
		launch_scale(lane);
		copy_out(lane, output + i * CHUNK_SIZE);
	}
	for (int i = 0; i < STREAMS; i++)
		CHECK(cudaStreamSynchronize(lanes[i].stream));
}

int main()
{
	struct lane lanes[STREAMS];
	float *input, *output = allocate_output();

	CHECK(cudaMallocHost(&input, CHUNKS * CHUNK_BYTES));
	for (size_t i = 0; i < CHUNKS * CHUNK_SIZE; i++) {
		input[i] = (float)(i % 1000);
		output[i] = 0;
	}
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaMalloc(&lanes[i].device, CHUNK_BYTES));
		CHECK(cudaStreamCreate(&lanes[i].stream));
	}

	process_chunks(lanes, input, output);

	printf("%d chunks: %.6f\n", CHUNKS, checksum(output, CHUNKS * CHUNK_SIZE));
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaStreamDestroy(lanes[i].stream));
		CHECK(cudaFree(lanes[i].device));
	}
	CHECK(cudaFreeHost(input));
	free_output(output);
	return 0;
}
