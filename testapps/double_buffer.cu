// SPDX-License-Identifier: Apache-2.0
// Clean: a double-buffered pipeline. One stream copies chunks in, another computes and copies
// results out; the two device buffers of each kind are used in turn. A chunk is computed after
// the event that says it has arrived, and a buffer is filled again after the event that says
// its last reader is done. All host memory is pinned and used once: nothing waits that need not,
// and nothing is missing.
#include "app.h"

static const int CHUNKS = 24, BUFFERS = 2;
static const size_t CHUNK_SIZE = 1 << 16, CHUNK_BYTES = CHUNK_SIZE * sizeof(float);

struct buffer {
	float *in, *out;
	cudaEvent_t filled, consumed;
};

static void create_buffer(struct buffer *buffer)
{
	CHECK(cudaMalloc(&buffer->in, CHUNK_BYTES));
	CHECK(cudaMalloc(&buffer->out, CHUNK_BYTES));
	CHECK(cudaEventCreateWithFlags(&buffer->filled, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&buffer->consumed, cudaEventDisableTiming));
}

static void destroy_buffer(struct buffer *buffer)
{
	CHECK(cudaEventDestroy(buffer->filled));
	CHECK(cudaEventDestroy(buffer->consumed));
	CHECK(cudaFree(buffer->in));
	CHECK(cudaFree(buffer->out));
}

static NOINLINE void fill(const struct buffer *buffer, const float *input, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(buffer->in, input, CHUNK_BYTES, cudaMemcpyHostToDevice, stream));
	CHECK(cudaEventRecord(buffer->filled, stream));
}

static NOINLINE void compute(const struct buffer *buffer, float *output, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, buffer->filled, 0));
	cufence::stencil<<<8, 256, 0, stream>>>(MILLISECOND, buffer->in, buffer->out, CHUNK_SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(buffer->consumed, stream));
	CHECK(cudaMemcpyAsync(output, buffer->out, CHUNK_BYTES, cudaMemcpyDeviceToHost, stream));
}

static void run_pipeline(const struct buffer *buffers, const float *input, float *output)
{
	cudaStream_t copying, computing;

	CHECK(cudaStreamCreateWithFlags(&copying, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&computing, cudaStreamNonBlocking));
	for (int i = 0; i < CHUNKS; i++) {
		const struct buffer *buffer = &buffers[i % BUFFERS];

		if (i >= BUFFERS)
			CHECK(cudaStreamWaitEvent(copying, buffer->consumed, 0));
		fill(buffer, input + i * CHUNK_SIZE, copying);
		compute(buffer, output + i * CHUNK_SIZE, computing);
	}
	CHECK(cudaStreamSynchronize(computing));
	CHECK(cudaStreamDestroy(copying));
	CHECK(cudaStreamDestroy(computing));
}

int main()
{
	struct buffer buffers[BUFFERS];
	float *input, *output;

	CHECK(cudaMallocHost(&input, CHUNKS * CHUNK_BYTES));
	CHECK(cudaMallocHost(&output, CHUNKS * CHUNK_BYTES));
	for (size_t i = 0; i < CHUNKS * CHUNK_SIZE; i++) {
		input[i] = (float)(i % 1000);
		output[i] = 0;
	}
	for (int i = 0; i < BUFFERS; i++)
		create_buffer(&buffers[i]);

	run_pipeline(buffers, input, output);

	printf("%d chunks: %.6f\n", CHUNKS, checksum(output, CHUNKS * CHUNK_SIZE));
	for (int i = 0; i < BUFFERS; i++)
		destroy_buffer(&buffers[i]);
	CHECK(cudaFreeHost(input));
	CHECK(cudaFreeHost(output));
	return 0;
}
