// SPDX-License-Identifier: Apache-2.0
// A stream refines a model and then writes a protocol of it; a second stream uses the model. The
// event for it is recorded at the end, after the protocol, and a wait covers all that was submitted
// before the record: the user of the model waits for a protocol it never reads.
// The fix records the event right after the model.
#include "app.h"

static const int STEPS = 12;
static const size_t SIZE = 1 << 12;

static NOINLINE void refine(float *model, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, model, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void write_protocol(float *protocol, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(3 * MILLISECOND, protocol, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void wait_for(cudaEvent_t event, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, event, 0));
}

static NOINLINE void use_model(const float *model, float *answer, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(3 * MILLISECOND, model, answer, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t refining = new_stream(), answering = new_stream();
	float *model = device_floats(SIZE, 0), *protocol = device_floats(SIZE, 0);
	float *answer = device_floats(SIZE, 0);
	cudaEvent_t refined = new_event(), answered = new_event();

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		refine(model, refining);
#ifdef FIXED
		CHECK(cudaEventRecord(refined, refining));
#endif
		write_protocol(protocol, refining);
#ifndef FIXED
		CHECK(cudaEventRecord(refined, refining));
#endif
		wait_for(refined, answering);
		use_model(model, answer, answering);
		CHECK(cudaEventRecord(answered, answering));
		CHECK(cudaStreamWaitEvent(refining, answered, 0));
	}
	print_device("answer", answer, SIZE);
	print_device("protocol", protocol, SIZE);
	return 0;
}
