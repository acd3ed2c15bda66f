// SPDX-License-Identifier: Apache-2.0
// Items of very different length go to whichever of three streams is next; each frees its memory.
// Fixed, the longest stream decides, which is not a third of the work.
// The fix frees after the loop.
#include "app.h"

static const int ITEMS = 30, STREAMS = 3;
static const size_t SIZE = 1 << 12;

int main()
{
	load_kernels();
	cudaStream_t stream[STREAMS];
	float *memory[ITEMS];
	unsigned random = 12345;

	for (int i = 0; i < STREAMS; i++)
		stream[i] = new_stream();
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < ITEMS; i++) {
		random = random * 1103515245 + 12345;
		unsigned long long length = (random >> 16 & 31) * MILLISECOND / 8 + MILLISECOND / 8;

		CHECK(cudaMalloc(&memory[i], SIZE * sizeof(float)));
		cufence::touch<<<4, 256, 0, stream[i % STREAMS]>>>(length, memory[i], SIZE);
		CHECK(cudaGetLastError());
#ifndef FIXED
		CHECK(cudaFree(memory[i]));
#endif
	}
	CHECK(cudaDeviceSynchronize());
#ifdef FIXED
	for (int i = 0; i < ITEMS; i++)
		CHECK(cudaFree(memory[i]));
#endif
	printf("%d items\n", ITEMS);
	return 0;
}
