// SPDX-License-Identifier: Apache-2.0
// Eight streams take chunks in turn: copy in, compute, copy out. Each chunk's staging buffer is
// pinned for it and unpinned after use, which waits for all streams. Copies share one engine per
// direction, so that eight streams do not become eight times as fast.
// The fix pins a buffer per stream once.
#include "app.h"

static const int CHUNKS = 48, STREAMS = 8;
static const size_t SIZE = 1 << 20;

static void process(float *chunk, float *staging, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(chunk, staging, SIZE * sizeof(float), cudaMemcpyHostToDevice,
		stream));
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND / 2, chunk, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(staging, chunk, SIZE * sizeof(float), cudaMemcpyDeviceToHost,
		stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream[STREAMS];
	float *chunk[STREAMS], *staging[STREAMS];

	for (int i = 0; i < STREAMS; i++) {
		stream[i] = new_stream();
		chunk[i] = device_floats(SIZE, 0);
		staging[i] = (float *)aligned_alloc(4096, SIZE * sizeof(float));
		for (size_t j = 0; j < SIZE; j++)
			staging[i][j] = 1;
#ifdef FIXED
		CHECK(cudaHostRegister(staging[i], SIZE * sizeof(float), 0));
#endif
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < CHUNKS; i++) {
		int s = i % STREAMS;
#ifndef FIXED
		CHECK(cudaHostRegister(staging[s], SIZE * sizeof(float), 0));
#endif
		process(chunk[s], staging[s], stream[s]);
#ifndef FIXED
		CHECK(cudaHostUnregister(staging[s]));
#endif
	}
	print_device("chunk", chunk[0], SIZE);
	return 0;
}
