// SPDX-License-Identifier: Apache-2.0
// Clean: several streams read one table at the same time. It is written once, before, and the
// host waits for that; afterwards nobody writes it, so that the readers need no order among
// themselves. Each adds it to a buffer of its own. Two kernels that have the same pointer are in
// conflict only if one of them writes through it: here both take it as const.
// Each stream is waited for before its buffer is fetched.
#include "app.h"

static const int STREAMS = 3, STEPS = 10;
static const size_t SIZE = 1 << 15, BYTES = SIZE * sizeof(float);

struct reader {
	float *sum;
	cudaStream_t stream;
};

static void create_reader(struct reader *reader)
{
	CHECK(cudaMalloc(&reader->sum, BYTES));
	CHECK(cudaMemset(reader->sum, 0, BYTES));
	CHECK(cudaStreamCreateWithFlags(&reader->stream, cudaStreamNonBlocking));
}

static void destroy_reader(struct reader *reader)
{
	CHECK(cudaStreamDestroy(reader->stream));
	CHECK(cudaFree(reader->sum));
}

static NOINLINE void add_table(const struct reader *reader, const float *table)
{
	cufence::accumulate<<<4, 256, 0, reader->stream>>>(MILLISECOND, table, reader->sum, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void print_sum(const struct reader *reader, int number, float *host)
{
	CHECK(cudaStreamSynchronize(reader->stream));
	CHECK(cudaMemcpy(host, reader->sum, BYTES, cudaMemcpyDeviceToHost));
	printf("reader %d: %.6f\n", number, checksum(host, SIZE));
}

int main()
{
	static float host[SIZE];
	struct reader readers[STREAMS];
	float *table;

	for (size_t i = 0; i < SIZE; i++)
		host[i] = (float)(i % 1000);
	CHECK(cudaMalloc(&table, BYTES));
	CHECK(cudaMemcpy(table, host, BYTES, cudaMemcpyHostToDevice));
	for (int i = 0; i < STREAMS; i++)
		create_reader(&readers[i]);
	CHECK(cudaDeviceSynchronize());

	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < STREAMS; i++)
			add_table(&readers[i], table);
	for (int i = 0; i < STREAMS; i++)
		print_sum(&readers[i], i, host);

	for (int i = 0; i < STREAMS; i++)
		destroy_reader(&readers[i]);
	CHECK(cudaFree(table));
	return 0;
}
