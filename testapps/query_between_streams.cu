// SPDX-License-Identifier: Apache-2.0
// Jobs take turns on three streams. Behind each the host asks its event in a loop until it is done,
// and only then submits the next job, though that has nothing to do with it: one stream works at a
// time. A loop of queries is a wait like any other.
// The fix asks no event, and waits once at the end.
#include "app.h"

static const int JOBS = 24, STREAMS = 3;
static const size_t SIZE = 1 << 12;

static NOINLINE void submit(float *data, cudaEvent_t done, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND, data, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(done, stream));
}

static NOINLINE void spin_until(cudaEvent_t done)
{
	cudaError_t state;

	do
		state = cudaEventQuery(done);
	while (state == cudaErrorNotReady);
	CHECK(state);
}

int main()
{
	load_kernels();
	cudaStream_t stream[STREAMS];
	cudaEvent_t done[STREAMS];
	float *data[STREAMS];

	for (int i = 0; i < STREAMS; i++) {
		stream[i] = new_stream();
		done[i] = new_event();
		data[i] = device_floats(SIZE, 0);
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < JOBS; i++) {
		submit(data[i % STREAMS], done[i % STREAMS], stream[i % STREAMS]);
#ifndef FIXED
		spin_until(done[i % STREAMS]);
#else
		(void)spin_until;
#endif
	}
	for (int i = 0; i < STREAMS; i++)
		print_device("data", data[i], SIZE);
	return 0;
}
