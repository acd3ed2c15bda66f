// SPDX-License-Identifier: Apache-2.0
// Two rows of a table are gathered by one batch of copies, behind the kernel that fills the table
// in the same stream. The batch allows its sources to be read out of stream order (srcAccessOrder
// Any, taken over from a batch that uploads host memory): nothing makes it wait for the kernel.
// The fix asks for stream order. It never bites as it is: the driver makes no use of it here.
#include "app.h"

static const int STEPS = 8;
static const size_t SIZE = 1 << 14, ROW = 1 << 10;

static NOINLINE void fill_table(float *table, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND, table, SIZE, 1);
	CHECK(cudaGetLastError());
}

static NOINLINE void gather_rows(float *rows, float *table, cudaStream_t stream)
{
	void *to[] = { rows, rows + ROW };
	const void *from[] = { table + ROW, table + 5 * ROW };
	size_t bytes[] = { ROW * sizeof(float), ROW * sizeof(float) }, first = 0;
	cudaMemcpyAttributes attributes = {};

#ifdef FIXED
	attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
#else
	attributes.srcAccessOrder = cudaMemcpySrcAccessOrderAny;
#endif
	CHECK(cudaMemcpyBatchAsync(to, from, bytes, 2, &attributes, &first, 1, stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *table = device_floats(SIZE, 0), *rows = device_floats(2 * ROW, 0);

	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
		fill_table(table, stream);
		gather_rows(rows, table, stream);
	}
	CHECK(cudaStreamSynchronize(stream));
	print_device("rows", rows, 2 * ROW);
	return 0;
}
