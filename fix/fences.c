/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fences that the program lacks.  After an earlier call an event is recorded in its stream, and
 * before a later one its stream waits for the events of all streams that the earlier call was made
 * in: for more than the one operation that it needs, but for all of them.
 */
#include <unistd.h>

#include "fix_internal.h"
#include "machine.h"
#include "system.h"

enum { STREAMS = 32 };

static struct {
	_Atomic int lock;
	struct fenced_stream {
		CUstream stream;
		int thread; /* of a per-thread default stream, else 0 */
		CUevent event;
	} fence[FIX_FINDINGS][STREAMS];
	unsigned count[FIX_FINDINGS];
} fences;

static void take_lock(void)
{
	while (atomic_exchange_explicit(&fences.lock, 1, memory_order_acquire))
		machine_pause();
}

static void give_lock(void)
{
	atomic_store_explicit(&fences.lock, 0, memory_order_release);
}

/* Each thread has a stream of its own with that handle. */
static int thread_of(CUstream stream)
{
	return stream == CU_STREAM_PER_THREAD ? (int)syscall(SYS_gettid) : 0;
}

/* Finds the stream's event of a fence; NULL: there is none, or no room to make one. */
static struct fenced_stream *find(unsigned fence, CUstream stream, int add)
{
	struct fenced_stream *found = NULL;
	int thread = thread_of(stream);

	take_lock();
	for (unsigned i = 0; i < fences.count[fence] && !found; i++)
		if (fences.fence[fence][i].stream == stream &&
			fences.fence[fence][i].thread == thread)
			found = &fences.fence[fence][i];
	if (!found && add && fences.count[fence] < STREAMS) {
		found = &fences.fence[fence][fences.count[fence]];
		*found = (struct fenced_stream){ stream, thread, NULL };
		/* The event is made before the entry is counted: no other thread meets it. */
		if (fix.driver.new_event(&found->event, CU_EVENT_DISABLE_TIMING))
			found = NULL;
		else
			fences.count[fence]++;
	}
	give_lock();
	return found;
}

int fences_record(const struct fix_place *place, const struct fixed_call *call)
{
	struct fix_finding *finding = &fix.plan->findings[place->finding];
	struct fenced_stream *fenced;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	fix.recorder->own_begin();
	fenced = find(place->finding, fixed_stream(call), 1);
	if (fenced)
		result = fix.driver.record(fenced->event, fenced->stream);
	fix.recorder->own_end();
	if (result)
		fix_turn_off(finding, FIX_SURPRISE_OWN_CALL, call->id, (int)result);
	return !result;
}

int fences_wait(const struct fix_place *place, const struct fixed_call *call)
{
	struct fix_finding *finding = &fix.plan->findings[place->finding];
	CUstream stream = fixed_stream(call);
	int thread = thread_of(stream), waited = 0;
	CUresult result = CUDA_SUCCESS;

	fix.recorder->own_begin();
	for (unsigned i = 0; i < fences.count[place->finding] && !result; i++) {
		const struct fenced_stream *fenced = &fences.fence[place->finding][i];

		if (fenced->stream == stream && fenced->thread == thread)
			continue;
		result = fix.driver.stream_wait(stream, fenced->event, 0);
		waited = 1;
	}
	fix.recorder->own_end();
	if (result)
		fix_turn_off(finding, FIX_SURPRISE_OWN_CALL, call->id, (int)result);
	return waited && !result;
}

void fences_forget(void)
{
	memset(&fences, 0, sizeof(fences));
}
