// SPDX-License-Identifier: Apache-2.0
// Jobs go to four slots in turn, each with a stream and an event, so that four are under way at a
// time. Before it submits a job the host waits, so as not to run too far ahead: for the event of
// the newest job instead of the oldest. So one job is under way at a time.
// The fix waits for the event of the slot that the next job goes to.
#include "app.h"

static const int JOBS = 32, SLOTS = 4;
static const size_t SIZE = 1 << 12;

struct slot {
	cudaStream_t stream;
	cudaEvent_t done;
	float *data;
};

static NOINLINE void submit(const struct slot *slot)
{
	cufence::touch<<<8, 256, 0, slot->stream>>>(MILLISECOND, slot->data, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(slot->done, slot->stream));
}

static NOINLINE void wait_for_room(const struct slot *slots, int job)
{
#ifdef FIXED
	CHECK(cudaEventSynchronize(slots[job % SLOTS].done));
#else
	CHECK(cudaEventSynchronize(slots[(job + SLOTS - 1) % SLOTS].done));
#endif
}

int main()
{
	load_kernels();
	struct slot slots[SLOTS];

	for (int i = 0; i < SLOTS; i++)
		slots[i] = { new_stream(), new_event(), device_floats(SIZE, 0) };
	CHECK(cudaDeviceSynchronize());
	for (int job = 0; job < JOBS; job++) {
		wait_for_room(slots, job);
		submit(&slots[job % SLOTS]);
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < SLOTS; i++)
		print_device("data", slots[i].data, SIZE);
	return 0;
}
