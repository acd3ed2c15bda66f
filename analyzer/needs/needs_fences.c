/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of operations that a wait of the host keeps in order.  Where the wait is for nothing else,
 * streams can do that: an event that is recorded after the earlier operation, and that the later
 * one's stream waits for.  The host's wait kept all that its thread submits after it in order, an
 * event only what comes later in one stream, so that each pair of streams counts.
 *
 * All of a pair has to be known: that these are operations whose accesses are complete, and that
 * the waiting thread submits the later one.  Another thread may have got a signal after the wait.
 * A synchronous copy would wait in place of the wait.
 */
#include "memory.h"
#include "needs_internal.h"

/* Are all accesses of both known, and can the waiting thread let the later one's stream wait? */
static int can_be_fenced(const struct orders *orders, const struct host_wait *wait,
	const struct walk_call *later, const struct touch *earlier)
{
	const struct accesses *accesses;

	if (run_call(orders->run, wait->call)->thread != later->thread || !earlier->accesses ||
		!kind_has(later->kind, K_ACCESSES) || call_is_sync_copy(later->kind))
		return 0;
	accesses = access_read(orders->reader, later->id);
	return accesses && accesses->complete;
}

void needs_note_fence(struct orders *orders, size_t number, const struct walk_call *later,
	const struct touch *earlier)
{
	struct live_wait *live = number ? &orders->live[number % LIVE_WAITS] : NULL;
	struct host_wait *wait = number ? &orders->found.host[number - 1] : NULL;

	if (!wait || wait->unfenced)
		return;
	if (live->number != number || !can_be_fenced(orders, wait, later, earlier)) {
		wait->unfenced = 1;
		return;
	}
	/* An event after the last one, and a wait for it before the first, order all of the two. */
	for (size_t i = 0; i < live->fences; i++) {
		struct run_fence *fence = &orders->fence[live->fence[i]];

		if (run_call(orders->run, fence->earlier)->stream != earlier->stream ||
			run_call(orders->run, fence->later)->stream != later->stream)
			continue;
		if (fence->earlier < earlier->call)
			fence->earlier = earlier->call;
		return;
	}
	if (live->fences == NEEDS_BESIDE) {
		wait->unfenced = 1;
		return;
	}
	live->fence[live->fences++] = orders->fence_count;
	*array_push(orders->fence, orders->fence_count) =
		(struct run_fence){ wait->call, earlier->call, (uint32_t)later->id };
}
