/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds pageable Async copies that waited only for their own transfer.  Their duration is usual for
 * such calls, so it does not show the wait.  From pinned memory they would only have been
 * submitted.
 *
 * Small copies return before their transfer: the host has staged the data, and waited for nothing.
 * Pinning takes longer than a copy and is worthwhile for memory that is copied again, so the first
 * copy of an address remains.
 */
#include "bounds.h"
#include "constants.h"
#include "large.h"
#include "map.h"
#include "memory.h"
#include "wait.h"

int64_t waits_add_staged(struct waits *waits, uint32_t id, struct map *seen)
{
	const struct run *run = waits->db->run;
	const struct run_call *call = run_call(run, id);
	const struct run_payload *payload = run_payload(run, call);
	const struct run_overhead *row;
	struct wait wait;
	int64_t staged;
	uint64_t key;

	if (!call_is_async_copy(call->kind) || !payload->pageable || payload->result ||
		!(call->flags & CALL_RETURNED) || call->duration == DURATION_NEVER ||
		!call->last_work)
		return 0;
	wait = (struct wait){ .call = id,
		.process = payload->process,
		.thread = call->thread,
		.enter = call->enter,
		.exit = run_exit(run, call, id),
		.kind = WAIT_STAGED,
		.by = wait_operation_of(run, id, 1) };
	staged = wait.by.op ? time_within(wait.by.start, wait.by.end, wait.enter, wait.exit) : 0;
	key = map_hash_words((const uint64_t[]){ payload->process, call->kind,
				     (uint64_t)payload->pageable },
		3);
	if (!map_get(seen, key, 0)) {
		map_set(seen, key, 1);
		return staged;
	}
	/* Time before or after the transfer is not due to the memory. */
	wait.waited = staged - SUBMIT_COPY_NS;
	for (row = run_find(&run->overheads, id); row; row = run_next(&run->overheads, row))
		wait.waited -= row->end - row->start;
	if (wait.waited < BLOCKED_MIN_NS || run_wait_of(&run->evidence, id))
		return staged;
	wait_add_row(waits, &wait);
	*large_push(waits->wait, waits->count) = wait;
	return staged;
}
