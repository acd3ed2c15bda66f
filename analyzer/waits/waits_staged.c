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

static int is_pageable_copy(const struct run *run, const struct run_call *call)
{
	return call && call_is_async_copy(call->kind) && run_payload(run, call)->pageable &&
		call->flags & CALL_RETURNED && !run_payload(run, call)->result &&
		call->duration != DURATION_NEVER && call->last_work;
}

int64_t waits_staged_time(const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);
	struct wait_operation transfer;

	if (!is_pageable_copy(run, call))
		return 0;
	transfer = wait_operation_of(run, id, 1);
	return transfer.op
		? time_within(transfer.start, transfer.end, call->enter, run_exit(run, call, id))
		: 0;
}

void waits_add_staged(struct run *run, struct wait_list *list)
{
	const struct run_overhead *row, *end = run_rows_end(&run->overheads);
	struct map seen = { 0 };

	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		const struct run_payload *payload;
		struct wait wait;
		uint64_t key;

		if (!is_pageable_copy(run, call))
			continue;
		payload = run_payload(run, call);
		key = map_hash_words((const uint64_t[]){ payload->process, call->kind,
					     (uint64_t)payload->pageable },
			3);
		if (!map_get(&seen, key, 0)) {
			map_set(&seen, key, 1);
			continue;
		}
		wait = (struct wait){ .call = id,
			.process = payload->process,
			.thread = call->thread,
			.enter = call->enter,
			.exit = run_exit(run, call, id),
			.kind = WAIT_STAGED,
			.by = wait_operation_of(run, id, 1) };
		/* Time before or after the transfer is not due to the memory. */
		wait.waited = waits_staged_time(run, id) - SUBMIT_COPY_NS;
		row = run_find(&run->overheads, id);
		for (; row && row < end && row->call == id; row++)
			wait.waited -= row->end - row->start;
		if (wait.waited < BLOCKED_MIN_NS || run_wait_of(&run->evidence, id))
			continue;
		wait_add_row(&wait, &run->evidence);
		*large_push(list->wait, list->count) = wait;
	}
	map_release(&seen);
}
