// SPDX-License-Identifier: Apache-2.0
// A search step waits for its result itself, and whoever calls it waits once more: both for the
// whole device, and so for the picture, which another stream draws every fourth step and which
// nobody waits for. Without one of the two waits the other one would last as long.
// The fix waits for an event that is recorded after the copy of the result, once.
#include "app.h"

static const int STEPS = 16;
static const size_t SIZE = 1 << 10;

static NOINLINE void draw_picture(float *picture, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(4 * MILLISECOND, picture, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void search(float *state, float *result, cudaEvent_t found, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, state, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(result, state, SIZE * sizeof(float), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaEventRecord(found, stream));
#ifdef FIXED
	CHECK(cudaEventSynchronize(found));
#else
	CHECK(cudaDeviceSynchronize());
#endif
}

static NOINLINE void end_step()
{
#ifndef FIXED
	CHECK(cudaDeviceSynchronize());
#endif
}

int main()
{
	load_kernels();
	cudaStream_t searching = new_stream(), drawing = new_stream();
	float *state = device_floats(SIZE, 0), *picture = device_floats(SIZE, 0);
	float *result = pinned_floats(SIZE);
	cudaEvent_t found = new_event();
	double sum = 0;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		if (i % 4 == 0)
			draw_picture(picture, drawing);
		search(state, result, found, searching);
		end_step();
		sum += checksum(result, SIZE);
	}
	printf("results: %.6e\n", sum);
	print_device("picture", picture, SIZE);
	CHECK(cudaEventDestroy(found));
	return 0;
}
