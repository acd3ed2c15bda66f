// SPDX-License-Identifier: Apache-2.0
// Clean: a buffer is used again, by another stream, when a query has said that its last user is
// done. A query that succeeds tells the host what a wait would have told it: whatever the host
// submits then comes after the work asked about, in any stream, without an event.
// Until then the host takes the next buffer.
#include "app.h"

static const int ROUNDS = 16, BUFFERS = 4;
static const size_t SIZE = 1 << 14;

struct buffer {
	float *data;
	cudaEvent_t done;
};

static NOINLINE int is_free(const struct buffer *buffer)
{
	cudaError_t state = cudaEventQuery(buffer->done);

	if (state != cudaErrorNotReady)
		CHECK(state);
	return state == cudaSuccess;
}

static NOINLINE void work_in_place(const struct buffer *buffer, cudaStream_t stream)
{
	cufence::touch<<<2, 256, 0, stream>>>(MILLISECOND, buffer->data, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(buffer->done, stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream[3] = { new_stream(), new_stream(), new_stream() };
	struct buffer buffers[BUFFERS];

	for (struct buffer &buffer : buffers)
		buffer = { device_floats(SIZE, 0), new_event() };
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < ROUNDS; round++) {
		const struct buffer *buffer = &buffers[round % BUFFERS];

		while (!is_free(buffer))
			;
		work_in_place(buffer, stream[round % 3]);
	}
	for (struct buffer &buffer : buffers)
		print_device("buffer", buffer.data, SIZE);
	return 0;
}
