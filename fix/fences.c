/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fences that the program lacks.  After an earlier call an event is recorded in its stream, and
 * before a later one its stream waits for the events of all streams that the earlier call was made
 * in: for more than the one operation that it needs, but for all of them.
 */
#include <unistd.h>

#include "fix_internal.h"
#include "system.h"

enum { STREAMS = 32 };

static struct {
	_Atomic int lock;
	struct fenced_stream {
		CUstream stream;
		int thread; /* of a per-thread default stream, else 0 */
		CUevent event;
	} fence[FIX_FINDINGS][STREAMS];
	_Atomic unsigned count[FIX_FINDINGS];
} fences;

/* Each thread has a stream of its own with that handle. */
static int thread_of(CUstream stream)
{
	return stream == CU_STREAM_PER_THREAD ? (int)syscall(SYS_gettid) : 0;
}

/* The stream's entry of a fence, under the lock; NULL: none. */
static struct fenced_stream *find(unsigned fence, CUstream stream, int thread)
{
	for (unsigned i = 0; i < fences.count[fence]; i++)
		if (fences.fence[fence][i].stream == stream &&
			fences.fence[fence][i].thread == thread)
			return &fences.fence[fence][i];
	return NULL;
}

/* Finds the stream's entry, or adds one; NULL: there is no room or no event. */
static struct fenced_stream *find_or_add(unsigned fence, CUstream stream)
{
	int thread = thread_of(stream);
	struct fenced_stream *found;
	CUevent event;

	fix_lock(&fences.lock);
	found = find(fence, stream, thread);
	fix_unlock(&fences.lock);
	if (found || fix.driver.new_event(&event, CU_EVENT_DISABLE_TIMING))
		return found;
	fix_lock(&fences.lock);
	/* Another thread may have added it meanwhile: then this event is not used. */
	found = find(fence, stream, thread);
	if (!found && fences.count[fence] < STREAMS) {
		found = &fences.fence[fence][fences.count[fence]];
		*found = (struct fenced_stream){ stream, thread, event };
		/* fences_wait() reads entries that are counted, without the lock. */
		fences.count[fence]++;
	}
	fix_unlock(&fences.lock);
	return found;
}

int fences_record(const struct fix_place *place, const struct fixed_call *call)
{
	struct fix_finding *finding = &fix.plan->findings[place->finding];
	struct fenced_stream *fenced;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	fix.recorder->own_begin();
	fenced = find_or_add(place->finding, fixed_stream(call));
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
