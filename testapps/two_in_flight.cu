// SPDX-License-Identifier: Apache-2.0
// Clean: the host keeps two turns in flight. Before it submits a turn it waits for the event of the
// one before the last, so that it does not run ahead without a bound; the device never idles for
// it. Nothing needs the wait but that bound.
#include "app.h"

static const int TURNS = 60, IN_FLIGHT = 2;
static const size_t SIZE = 1 << 12;

static NOINLINE void submit(float *state, cudaEvent_t done, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 10, state, SIZE);
	cufence::scale<<<4, 256, 0, stream>>>(MILLISECOND / 10, state, SIZE, 0.5f);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(done, stream));
}

static NOINLINE void throttle(cudaEvent_t done)
{
	CHECK(cudaEventSynchronize(done));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0);
	cudaEvent_t done[IN_FLIGHT];

	for (cudaEvent_t &event : done)
		event = new_event();
	for (int i = 0; i < TURNS; i++) {
		throttle(done[i % IN_FLIGHT]);
		submit(state, done[i % IN_FLIGHT], stream);
	}
	print_device("state", state, SIZE);
	return 0;
}
