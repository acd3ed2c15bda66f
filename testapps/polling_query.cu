// SPDX-License-Identifier: Apache-2.0
// Clean: the host asks an event whether a chunk is done, does work of its own while it is not,
// and reads the chunk once the answer is yes. A query that succeeded orders the host after the
// work, as a wait would, and blocks nothing; the pinned buffer of a chunk is filled again only
// then, so that neither the copy in nor the copy out can meet the host.
#include "app.h"

static const int CHUNKS = 10;
static const size_t CHUNK_SIZE = 1 << 14, CHUNK_BYTES = CHUNK_SIZE * sizeof(float);

static NOINLINE void submit_chunk(float *host, float *device, cudaStream_t stream, cudaEvent_t done)
{
	CHECK(cudaMemcpyAsync(device, host, CHUNK_BYTES, cudaMemcpyHostToDevice, stream));
	cufence::scale<<<4, 256, 0, stream>>>(MILLISECOND, device, CHUNK_SIZE, 2);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(host, device, CHUNK_BYTES, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaEventRecord(done, stream));
}

static NOINLINE int is_done(cudaEvent_t done)
{
	cudaError_t state = cudaEventQuery(done);

	if (state != cudaErrorNotReady)
		CHECK(state);
	return state == cudaSuccess;
}

static void fill_chunk(float *host, int number)
{
	for (size_t i = 0; i < CHUNK_SIZE; i++)
		host[i] = (float)((i + number) % 1000);
}

int main()
{
	float *host, *device;
	cudaStream_t stream;
	cudaEvent_t done;
	double sum = 0;

	CHECK(cudaMallocHost(&host, CHUNK_BYTES));
	CHECK(cudaMalloc(&device, CHUNK_BYTES));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

	for (int i = 0; i < CHUNKS; i++) {
		volatile unsigned own_work = 0;

		fill_chunk(host, i);
		submit_chunk(host, device, stream, done);
		while (!is_done(done))
			for (int k = 0; k < 1000; k++)
				own_work = own_work + 1;
		sum += checksum(host, CHUNK_SIZE);
	}

	printf("%d chunks: %.6f\n", CHUNKS, sum);
	CHECK(cudaEventDestroy(done));
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaFree(device));
	CHECK(cudaFreeHost(host));
	return 0;
}
