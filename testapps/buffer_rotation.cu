// SPDX-License-Identifier: Apache-2.0
// Clean: three streams upload, compute and download; three buffers go round. Each stage waits for
// the event of the stage before it in this round, and the upload for the download of three rounds
// ago. All three streams are busy at the same time, each with another buffer.
// Nothing waits on the host until the end.
#include "app.h"

static const int ROUNDS = 12, BUFFERS = 3;
static const size_t SIZE = 1 << 14, BYTES = SIZE * sizeof(float);

struct buffer {
	float *data;
	cudaEvent_t uploaded, computed, downloaded;
};

struct streams {
	cudaStream_t upload, compute, download;
};

static NOINLINE void upload(struct buffer *buffer, const float *input, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(buffer->data, input, BYTES, cudaMemcpyHostToDevice, stream));
	CHECK(cudaEventRecord(buffer->uploaded, stream));
}

static NOINLINE void compute(struct buffer *buffer, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, buffer->uploaded, 0));
	cufence::scale<<<4, 256, 0, stream>>>(MILLISECOND, buffer->data, SIZE, 2);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(buffer->computed, stream));
}

static NOINLINE void download(struct buffer *buffer, float *output, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, buffer->computed, 0));
	CHECK(cudaMemcpyAsync(output, buffer->data, BYTES, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaEventRecord(buffer->downloaded, stream));
}

int main()
{
	load_kernels();
	struct streams streams = { new_stream(), new_stream(), new_stream() };
	float *input = pinned_floats(ROUNDS * SIZE), *output = pinned_floats(ROUNDS * SIZE);
	struct buffer buffers[BUFFERS];

	for (struct buffer &buffer : buffers)
		buffer = { device_floats(SIZE, 0), new_event(), new_event(), new_event() };
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < ROUNDS; round++) {
		struct buffer *buffer = &buffers[round % BUFFERS];

		if (round >= BUFFERS)
			CHECK(cudaStreamWaitEvent(streams.upload, buffer->downloaded, 0));
		upload(buffer, input + round * SIZE, streams.upload);
		compute(buffer, streams.compute);
		download(buffer, output + round * SIZE, streams.download);
	}
	CHECK(cudaStreamSynchronize(streams.download));
	printf("output: %.6e\n", checksum(output, ROUNDS * SIZE));
	return 0;
}
