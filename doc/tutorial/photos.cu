// SPDX-License-Identifier: Apache-2.0
// The program of doc/TUTORIAL.md: photos are uploaded and smoothed, on two streams in turn, and
// added up.  STEP says which of its five forms is built.
#include "app.h"

static const int PHOTOS = 20, STREAMS = 2;
static const size_t SIZE = 4 << 20, BYTES = SIZE * sizeof(float);

static float *photos[PHOTOS], *images[PHOTOS], *total;
#if STEP >= 2
static float *kept[STREAMS];
#endif
static cudaStream_t streams[STREAMS], adder;
static cudaEvent_t smoothed[PHOTOS];

static float *new_photo()
{
#if STEP >= 3
	return pinned_floats(SIZE);
#else
	float *photo = (float *)malloc(BYTES);

	for (size_t i = 0; photo && i < SIZE; i++)
		photo[i] = (float)(i % 1000);
	return photo;
#endif
}

static NOINLINE float *get_scratch(int i)
{
#if STEP >= 2
	return kept[i % STREAMS];
#else
	float *scratch;

	CHECK(cudaMalloc(&scratch, BYTES));
	return scratch;
#endif
}

static NOINLINE void put_scratch(float *scratch)
{
#if STEP < 2
	CHECK(cudaFree(scratch));
#endif
}

static NOINLINE void upload(int i)
{
	CHECK(cudaMemcpyAsync(images[i], photos[i], BYTES, cudaMemcpyHostToDevice,
		streams[i % STREAMS]));
}

static NOINLINE void smooth(int i, float *scratch)
{
	cudaStream_t stream = streams[i % STREAMS];

	cufence::stencil<<<16, 256, 0, stream>>>(2 * MILLISECOND, images[i], scratch, SIZE);
	cufence::accumulate<<<16, 256, 0, stream>>>(MILLISECOND, scratch, images[i], SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(smoothed[i], stream));
}

static NOINLINE void add(int i)
{
#if STEP >= 5
	CHECK(cudaStreamWaitEvent(adder, smoothed[i], 0));
#endif
	cufence::accumulate<<<16, 256, 0, adder>>>(MILLISECOND / 2, images[i], total, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	for (int i = 0; i < PHOTOS; i++)
		photos[i] = new_photo();
	for (int i = 0; i < PHOTOS; i++) {
		images[i] = device_floats(SIZE, 0);
		smoothed[i] = new_event();
	}
	for (int i = 0; i < STREAMS; i++) {
		streams[i] = new_stream();
#if STEP >= 2
		kept[i] = device_floats(SIZE, 0);
#endif
	}
	adder = new_stream();
	total = device_floats(SIZE, 0);
	CHECK(cudaDeviceSynchronize());

	for (int i = 0; i < PHOTOS; i++) {
		float *scratch = get_scratch(i);

		upload(i);
		smooth(i, scratch);
		put_scratch(scratch);
#if STEP >= 4
		add(i);
#endif
	}
	CHECK(cudaDeviceSynchronize());
#if STEP < 4
	for (int i = 0; i < PHOTOS; i++)
		add(i);
#endif
	print_device("total", total, SIZE);
	return 0;
}
