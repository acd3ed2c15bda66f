// SPDX-License-Identifier: Apache-2.0
// Clean: operands go to a kernel as a structure by value with room for four inputs, of which two
// are used. The unused slots still hold what was there for an earlier call: pointers to memory
// that another stream writes at the same time. The kernel never looks at them.
// A pointer among the arguments is no proof of an access.
#include "app.h"

static const int STEPS = 8;
static const size_t SIZE = 1 << 14;

static NOINLINE void add(struct cufence::operands *operands, float *out, const float *a,
	const float *b, cudaStream_t stream)
{
	operands->in[0] = a;
	operands->in[1] = b;
	operands->out = out;
	operands->count = 2;
	cufence::combine<<<4, 256, 0, stream>>>(MILLISECOND, *operands, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void refill(float *data, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, data, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t adding = new_stream(), filling = new_stream();
	float *a = device_floats(SIZE, 0x3f), *b = device_floats(SIZE, 0x3e);
	float *c = device_floats(SIZE, 0), *out = device_floats(SIZE, 0);
	struct cufence::operands operands = { .in = { a, b, c, c }, .out = out, .count = 4 };
	struct cudaFuncAttributes attributes;

	CHECK(cudaFuncGetAttributes(&attributes, (const void *)cufence::combine));
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
		refill(c, filling);
		add(&operands, out, a, b, adding);
	}
	print_device("out", out, SIZE);
	print_device("c", c, SIZE);
	return 0;
}
