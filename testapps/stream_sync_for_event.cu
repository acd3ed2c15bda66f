// SPDX-License-Identifier: Apache-2.0
// The host needs a coarse result to start the fine work in another stream. It waits for the stream
// of the coarse work, where a report has been queued behind the result: it waits for that, too,
// although nobody needs it yet. The wait for the fine work orders what changes the state: an event
// would do that, too, but the next step has to wait all the same.
// The fix waits for an event that is recorded between the two.
#include "app.h"

static const int STEPS = 12;
static const size_t SIZE = 1 << 10;

static NOINLINE void compute_coarse(float *state, float *result, cudaEvent_t done,
	cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, state, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(result, state, SIZE * sizeof(float), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaEventRecord(done, stream));
}

static NOINLINE void compute_report(float *report, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(3 * MILLISECOND, report, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void wait_for_coarse(cudaEvent_t done, cudaStream_t stream)
{
#ifdef FIXED
	CHECK(cudaEventSynchronize(done));
#else
	CHECK(cudaStreamSynchronize(stream));
#endif
}

static NOINLINE void compute_fine(float *state, float by, cudaStream_t stream)
{
	cufence::fill<<<4, 256, 0, stream>>>(4 * MILLISECOND, state, SIZE, by);
	CHECK(cudaGetLastError());
	CHECK(cudaStreamSynchronize(stream));
}

int main()
{
	load_kernels();
	cudaStream_t coarse = new_stream(), fine = new_stream();
	float *state = device_floats(SIZE, 0), *report = device_floats(SIZE, 0);
	float *result = pinned_floats(SIZE);
	cudaEvent_t done = new_event();

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		compute_coarse(state, result, done, coarse);
		compute_report(report, coarse);
		wait_for_coarse(done, coarse);
		compute_fine(state, result[i], fine);
	}
	print_device("state", state, SIZE);
	print_device("report", report, SIZE);
	CHECK(cudaEventDestroy(done));
	return 0;
}
