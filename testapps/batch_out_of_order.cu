// SPDX-License-Identifier: Apache-2.0
// A row of a table and one of constants are gathered by one batch of copies, behind the kernel that
// fills the table in the same stream. Constants may be read out of stream order (srcAccessOrder
// Any). The attributes are in the wrong order: it is the row of the table that may be, so that
// nothing makes its copy wait for the kernel. The fix lets only the constants be read at any time.
// It never bites as it is: the driver makes no use of it here.
#include "app.h"

static const int STEPS = 8;
static const size_t SIZE = 1 << 14, ROW = 1 << 10;

static NOINLINE void fill_table(float *table, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND, table, SIZE, 1);
	CHECK(cudaGetLastError());
}

static NOINLINE void gather_rows(float *rows, float *table, float *constants, cudaStream_t stream)
{
	void *to[] = { rows, rows + ROW };
	const void *from[] = { table + ROW, constants };
	size_t bytes[] = { ROW * sizeof(float), ROW * sizeof(float) }, first[] = { 0, 1 };
	cudaMemcpyAttributes attributes[2] = {};

#ifdef FIXED
	attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
#else
	attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
	attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
#endif
	CHECK(cudaMemcpyBatchAsync(to, from, bytes, 2, attributes, first, 2, stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *table = device_floats(SIZE, 0), *rows = device_floats(2 * ROW, 0);
	float *constants = device_floats(ROW, 3);

	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
		fill_table(table, stream);
		gather_rows(rows, table, constants, stream);
	}
	CHECK(cudaStreamSynchronize(stream));
	print_device("rows", rows, 2 * ROW);
	return 0;
}
