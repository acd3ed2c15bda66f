// SPDX-License-Identifier: Apache-2.0
// One stream refines a model and writes a protocol, a second one sorts the questions and counts
// them; a third answers, with the model and the questions. Both events are recorded at the end, so
// that the answers wait for the protocol and for the count; without one of them for the other.
// The fix records each event right after what is needed.
#include "app.h"

static const int STEPS = 12;
static const size_t SIZE = 1 << 12;

static NOINLINE void work(float *data, unsigned long long ns, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(ns, data, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void write_protocol(float *protocol, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(4 * MILLISECOND, protocol, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void count(float *counts, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(3 * MILLISECOND, counts, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void wait_for_model(cudaEvent_t refined, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, refined, 0));
}

static NOINLINE void wait_for_questions(cudaEvent_t sorted, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, sorted, 0));
}

static NOINLINE void answer(const float *model, float *questions, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(3 * MILLISECOND, model, questions, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t refining = new_stream(), sorting = new_stream(), answering = new_stream();
	float *model = device_floats(SIZE, 0), *protocol = device_floats(SIZE, 0);
	float *questions = device_floats(SIZE, 0), *counts = device_floats(SIZE, 0);
	cudaEvent_t refined = new_event(), sorted = new_event(), answered = new_event();

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		work(model, MILLISECOND, refining);
		work(questions, MILLISECOND, sorting);
#ifdef FIXED
		CHECK(cudaEventRecord(refined, refining));
		CHECK(cudaEventRecord(sorted, sorting));
#endif
		write_protocol(protocol, refining);
		count(counts, sorting);
#ifndef FIXED
		CHECK(cudaEventRecord(refined, refining));
		CHECK(cudaEventRecord(sorted, sorting));
#endif
		wait_for_model(refined, answering);
		wait_for_questions(sorted, answering);
		answer(model, questions, answering);
		CHECK(cudaEventRecord(answered, answering));
		CHECK(cudaStreamWaitEvent(refining, answered, 0));
		CHECK(cudaStreamWaitEvent(sorting, answered, 0));
	}
	print_device("answers", questions, SIZE);
	print_device("protocol", protocol, SIZE);
	print_device("counts", counts, SIZE);
	return 0;
}
