// SPDX-License-Identifier: Apache-2.0
// Every part of a step makes sure that the model is ready: each has its stream wait for the event,
// and for that of the parameters, which was recorded before it in the same stream. After the first
// wait for the later event the stream comes after both; the other waits order nothing. Each is
// short; they add up in a loop of short steps.
// The fix waits for the later event once.
#include "app.h"

static const int STEPS = 500, PARTS = 4;
static const size_t SIZE = 256;

static NOINLINE void refine(float *model, cudaStream_t stream)
{
	cufence::touch<<<1, 256, 0, stream>>>(MILLISECOND / 500, model, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void wait_for(cudaEvent_t event, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, event, 0));
}

#ifndef FIXED
static NOINLINE void make_sure(const cudaEvent_t events[2], cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, events[0], 0));
	CHECK(cudaStreamWaitEvent(stream, events[1], 0));
}
#endif

static NOINLINE void use(const float *model, float *answer, cudaStream_t stream)
{
	cufence::accumulate<<<1, 256, 0, stream>>>(MILLISECOND / 500, model, answer, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t refining = new_stream(), answering = new_stream();
	float *parameters = device_floats(SIZE, 0), *model = device_floats(SIZE, 0);
	float *answer = device_floats(SIZE, 0);
	cudaEvent_t events[2] = { new_event(), new_event() }, answered = new_event();

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		refine(parameters, refining);
		CHECK(cudaEventRecord(events[0], refining));
		refine(model, refining);
		CHECK(cudaEventRecord(events[1], refining));
		wait_for(events[1], answering);
		for (int part = 0; part < PARTS; part++) {
#ifndef FIXED
			make_sure(events, answering);
#endif
			use(model, answer, answering);
		}
		CHECK(cudaEventRecord(answered, answering));
		CHECK(cudaStreamWaitEvent(refining, answered, 0));
	}
	print_device("answer", answer, SIZE);
	return 0;
}
