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
#include "constants.h"
#include "map.h"
#include "run_columns.h"
#include "waits.h"

/* The last of the copy's operations, which it may have waited for. */
struct transfer {
	uint32_t op; /* 0: none */
	int64_t start, end;
};

static struct transfer transfer_of(const struct run *run, const struct run_call *call)
{
	struct transfer last = { .end = RUN_NEVER };
	uint32_t id = call->last_work;

	while (call->last_work) {
		const struct run_work *work;
		int64_t end;

		id = run_work(run, id)->next;
		work = run_work(run, id);
		end = run_end(run, work, id);
		if (!last.op || (end != RUN_NEVER && (last.end == RUN_NEVER || end > last.end)))
			last = (struct transfer){ id, work->start, end };
		if (id == call->last_work)
			break;
	}
	return last;
}

static int64_t overhead_of(const struct run *run, uint32_t call)
{
	const struct run_overhead *row = run_find(&run->overheads, call);
	const struct run_overhead *end = run_rows_end(&run->overheads);
	int64_t sum = 0;

	for (; row && row < end && row->call == call; row++)
		sum += row->end - row->start;
	return sum;
}

static int is_pageable_copy(const struct run *run, const struct run_call *call)
{
	return call && call_is_async_copy(call->kind) && run_payload(run, call)->pageable &&
		call->flags & CALL_RETURNED && !run_payload(run, call)->result &&
		call->duration != DURATION_NEVER && call->last_work;
}

/* Returns the time of the transfer during the call, ns. */
static int64_t within(const struct run *run, uint32_t id, const struct transfer *transfer)
{
	const struct run_call *call = run_call(run, id);
	int64_t exit = run_exit(run, call, id), from, until;

	if (transfer->start == RUN_NEVER || transfer->end == RUN_NEVER)
		return 0;
	from = transfer->start > call->enter ? transfer->start : call->enter;
	until = transfer->end < exit ? transfer->end : exit;
	return until > from ? until - from : 0;
}

/*
 * Returns the time waited for the transfer, ns; 0: too little.  Time before or after it is not due
 * to the memory.
 */
static int64_t waited_for(const struct run *run, uint32_t id, const struct transfer *transfer)
{
	int64_t waited = within(run, id, transfer) - SUBMIT_COPY_NS - overhead_of(run, id);

	return waited < BLOCKED_MIN_NS ? 0 : waited;
}

/* Returns 1 if the process copied the address before; -1 when out of memory. */
static int is_copied_again(struct map *seen, const struct run *run, const struct run_call *call)
{
	const struct run_payload *payload = run_payload(run, call);
	const int64_t what[] = { payload->process, call->kind, payload->pageable };
	uint64_t key = map_hash((const char *)what, sizeof(what));

	if (map_get(seen, key, 0))
		return 1;
	map_set(seen, key, 1);
	return 0;
}

static int add(struct run *run, uint32_t id, struct wait_list *list)
{
	const struct run_call *call = run_call(run, id);
	struct transfer transfer = transfer_of(run, call);
	struct wait wait = { .call = id,
		.process = run_payload(run, call)->process,
		.thread = call->thread,
		.enter = call->enter,
		.exit = run_exit(run, call, id),
		.kind = WAIT_STAGED,
		.by = { .call = id, .op = transfer.op, .end = transfer.end },
		.waited = waited_for(run, id, &transfer) };

	if (!wait.waited || run_wait_of(&run->evidence, id))
		return 0;
	return wait_add_row(&wait, &run->evidence, NULL) ? -1 : wait_list_add(list, &wait);
}

int64_t waits_staged_time(const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);
	struct transfer transfer;

	if (!is_pageable_copy(run, call))
		return 0;
	transfer = transfer_of(run, call);
	return within(run, id, &transfer);
}

int waits_add_staged(struct db *db, struct wait_list *list)
{
	struct map seen = { 0 };
	int rc = 0;

	for (uint32_t id = 1; !rc && id < run_call_end(db->run); id++) {
		const struct run_call *call = run_call(db->run, id);
		int again;

		if (!is_pageable_copy(db->run, call))
			continue;
		again = is_copied_again(&seen, db->run, call);
		rc = again > 0 ? add(db->run, id, list) : again;
	}
	map_release(&seen);
	return rc;
}
