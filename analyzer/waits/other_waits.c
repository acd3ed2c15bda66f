/* SPDX-License-Identifier: Apache-2.0 */
/* Waits that no comparison of durations shows: for a copy's own transfer, and for a full queue. */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "large.h"
#include "map.h"
#include "memory.h"
#include "radix_sort.h"
#include "sorted.h"
#include "wait.h"

/*
 * Pageable Async copies that waited only for their own transfer.  Their duration is usual for such
 * calls, so it does not show the wait.  From pinned memory they would only have been submitted.
 *
 * Small copies return before their transfer: the host has staged the data, and waited for nothing.
 * Pinning takes longer than a copy and is worthwhile for memory that is copied again, so the first
 * copy of an address remains.
 */
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
		.by = wait_operation_of(run, id) };
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

/* Submissions that a full launch queue blocked, and the operations that made room for them. */
void waits_find_queue(struct waits *waits)
{
	const struct run *run = waits->db->run;
	const struct run_overhead *first = (const struct run_overhead *)run->overheads.rows, *row;
	const struct run_overhead *end = run_rows_end(&run->overheads);
	struct map full = { 0 };    /* streams in which a submission was blocked */
	struct timed *ended = NULL; /* their operations, by end */
	size_t count = 0;

	for (row = first; row < end; row++) {
		const struct run_call *call = run_call(run, row->call);

		if (row->kind == OVERHEAD_QUEUE_FULL && call && call->stream)
			map_set(&full, call->stream, 1);
	}
	for (uint32_t op = 1; full.count && op < run_work_end(run); op++) {
		const struct run_work *work = run_work(run, op);
		int is_there = work && map_get(&full, run_where(run, work)->stream, 0);
		int64_t until = is_there ? run_end(run, work, op) : RUN_NEVER;

		if (until != RUN_NEVER)
			*array_push(ended, count) = (struct timed){ until, op };
	}
	ended = radix_sort(ended, count, sizeof(*ended));
	for (row = first; row < end && count; row++) {
		const struct run_call *call = run_call(run, row->call);
		struct wait wait = { .call = row->call,
			.kind = WAIT_QUEUE,
			.waited = row->end - row->start };
		int64_t longest = -1;
		size_t at;

		if (row->kind != OVERHEAD_QUEUE_FULL || !call || !call->stream)
			continue;
		at = sorted_after(ended, count, sizeof(*ended), offsetof(struct timed, at),
			row->end + CLOCK_ERROR_MAX_NS);
		/* The stream's operation that ran longest in the block and ended in it. */
		for (; at && ended[at - 1].at > row->start; at--) {
			const struct run_work *work = run_work(run, (int64_t)ended[at - 1].of);
			int64_t ran =
				time_within(work->start, ended[at - 1].at, row->start, row->end);

			if (run_where(run, work)->stream != call->stream || ran <= longest)
				continue;
			longest = ran;
			wait.by.op = (int64_t)ended[at - 1].of;
		}
		if (wait.by.op)
			wait_add_row(waits, &wait);
	}
	free(ended);
	map_release(&full);
}
