/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how much of a wait was avoidable for the thread and the device.
 *
 * Without the wait the thread would have continued at once, until the next wait that covers the
 * same operation.  The time from the operation's end to that wait is the segment.  The part of it
 * in which nothing ran that must come after the operation was avoidable: the device was idle, or
 * ran work that could have been concurrent with the operation.  If nothing lies between (a pageable
 * copy and the cudaStreamSynchronize for it, the frees at the end of a program) the wait costs
 * nothing: it would have happened a line later.
 *
 *	launch X | cudaFree waits for X | host work, launch Y | next cudaFree
 *	                                |<--- the segment --->|
 *
 * Calls that wait as a side effect end a segment only if they were blocked themselves: two frees in
 * a row are one mistake.
 *
 * An Async copy blocked the thread for its own transfer too, after any earlier wait: work ordered
 * after one of the two may be concurrent with the other, such as the next kernel of the stream
 * whose result a second stream copies.
 *
 * A synchronous copy to the device could have been concurrent with an operation on other memory,
 * such as the upload to the other one of two buffers.
 *
 * A synchronous copy to the host is how programs wait for a result, so only concurrent work counts,
 * not the time in which the thread used the result, nor the time in which it fetches the results of
 * several devices one by one.  This does not apply if the copy is hidden in a library below the
 * line of a script, as in PyTorch's .item().
 *
 * This is an upper bound for each wait alone; it does not replay the run.
 */
#include "constants.h"
#include "waits.h"

#include <stdlib.h>

#include "pinned_copies.h"
#include "run_columns.h"
#include "stretches.h"
#include "waits_segment.h"

struct avoidable {
	struct segments segments;
	struct pinned_copies pinned;
	struct run *run;
	struct stretches stretches;
	struct map last;    /* process -> its last call that submitted an operation */
	struct map written; /* allocations that an operand other than a source names */
	int knows_written;
};

/* Does the thread merely use the result of a synchronous copy?  Not if a script's line hides it. */
static int is_by_intent(struct avoidable *a, const struct wait *wait)
{
	int script = wait->to_host ? segments_of_script(&a->segments, wait->call) : 1;

	return script < 0 ? -1 : !script || wait->past_results;
}

static int64_t idle_that_counts(const struct wait *wait, int64_t idle)
{
	int copy = wait->is_copy || (wait->is_async && !wait->partner);

	if ((copy || wait->next->row_count) && idle < ROUND_TRIP_NS)
		return 0;
	return !wait->next->submits && idle < BLOCKED_MIN_NS ? 0 : idle;
}

static int lost(struct avoidable *a, struct wait *wait, int64_t *ns)
{
	int64_t from = wait->behind.end, until = wait->next->until;
	int by_intent = is_by_intent(a, wait);
	struct span_sums sums;

	if (wait->itself.end > from)
		from = wait->itself.end;
	if (from > wait->exit || !wait->next->submits)
		from = wait->exit;
	if (wait->next->last_end > until)
		until = wait->next->last_end;
	if (by_intent < 0 || spans_sum(&wait->next->spans, from, until, &sums))
		return -1;
	*ns = sums.apart;
	if (!by_intent)
		*ns += idle_that_counts(wait, sums.idle);
	if (*ns > wait->waited)
		*ns = wait->waited;
	return 0;
}

static int measure(struct avoidable *a, struct wait *wait, int64_t *ns)
{
	struct segment next = { .until = 0 };
	int rc;

	wait->next = &next;
	rc = segments_measure(&a->segments, wait) || lost(a, wait, ns);
	spans_release(&next.spans);
	wait->next = NULL;
	return rc ? -1 : 0;
}

/*
 * Measures the wait for the call's own transfer, of which at most the transfer's time was
 * avoidable.
 */
static int measure_own(struct avoidable *a, const struct wait *wait, int64_t *ns)
{
	struct wait own = *wait;
	int64_t took = wait->itself.end - wait->behind.end, others = *ns;

	own.behind = wait->itself;
	own.waited = took + wait->exit - wait->itself.end;
	if (measure(a, &own, ns))
		return -1;
	if (others > *ns)
		*ns = others;
	return 0;
}

static int64_t overlap(int64_t a, int64_t b)
{
	int64_t less = a < b ? a : b;

	return less < ROUND_TRIP_NS ? 0 : less;
}

/* Adds the delay of the copy itself, up to the time of both. */
static int add_upload(struct avoidable *a, const struct wait *wait, int64_t *ns)
{
	int64_t since = wait->behind.start > wait->enter ? wait->behind.start : wait->enter;
	int64_t from =
		wait->itself.start > wait->behind.end ? wait->itself.start : wait->behind.end;
	int64_t could = overlap(wait->itself.end - from, wait->behind.end - since);
	int apart = could ? segments_own_apart(&a->segments, wait) : 0;

	if (apart > 0)
		*ns = *ns + could < wait->waited ? *ns + could : wait->waited;
	return apart < 0 ? -1 : 0;
}

static int is_upload(const struct wait *wait)
{
	return wait->is_copy && !wait->to_host && wait->behind.call != wait->call &&
		wait->itself.end > wait->behind.end;
}

/* Did the copy wait for something else, and then for its own transfer? */
static int has_own_transfer(const struct wait *wait)
{
	return wait->is_async && wait->kind != WAIT_EXPLICIT && wait->behind.call != wait->call &&
		wait->itself.end > wait->behind.end && wait->itself.end <= wait->exit;
}

/* Measures the avoidable time together with the copy to the host after it, if that is more. */
static int measure_with_result(struct avoidable *a, struct wait *wait, int64_t *ns)
{
	struct wait both = *wait;
	int64_t more = 0;

	both.past_results = 1;
	if (measure(a, &both, &more))
		return -1;
	if (more > *ns) {
		*ns = more;
		wait->partner = wait->result;
	}
	return 0;
}

/*
 * A pageable copy in the legacy default stream whose only fix is pinned memory still delays the
 * thread's next work: now on the device.
 */
static int measure_independent(struct avoidable *a, const struct wait *wait, int64_t *ns)
{
	struct wait apart = *wait;

	if (!wait->is_async || wait->itself.kind != STREAM_KIND_LEGACY)
		return 0;
	apart.leaves = 1;
	return measure(a, &apart, ns);
}

/* The transfer itself would have been shorter; the next call need not follow at once. */
static int64_t shorter(const struct avoidable *a, const struct wait *wait)
{
	int64_t ns = pinned_excess(&a->pinned, a->run, wait->call);

	return ns < BLOCKED_MIN_NS ? 0 : ns;
}

static void set_avoidable(struct avoidable *a, const struct wait *wait, int64_t ns, int64_t apart,
	int64_t partner)
{
	struct run_wait *row = &a->run->evidence.wait[wait->number];

	row->shorter = shorter(a, wait);
	row->avoidable = ns > row->shorter ? ns : row->shorter;
	row->apart = apart;
	row->partner = (uint32_t)partner;
}

static int judge(struct avoidable *a, struct wait *wait)
{
	struct wait before = *wait;
	int64_t ns = 0, apart = 0;
	int rc = 1;

	/* An explicit wait is avoidable only together with the copy in the same line. */
	if (wait->kind == WAIT_EXPLICIT)
		rc = segments_of_one_line(&a->segments, wait->call, wait->partner);
	if (rc <= 0) {
		set_avoidable(a, wait, 0, 0, 0);
		return rc;
	}
	if (measure(a, wait, &ns) || (has_own_transfer(wait) && measure_own(a, &before, &ns)) ||
		(is_upload(wait) && add_upload(a, wait, &ns)) ||
		(wait->result && measure_with_result(a, wait, &ns)) ||
		measure_independent(a, &before, &apart))
		return -1;
	set_avoidable(a, wait, ns, apart, wait->partner);
	return 0;
}

/* --- which waits --- */

static int is_host(unsigned memory)
{
	return memory == MEMORY_PAGEABLE || memory == MEMORY_PINNED;
}

static int find_written(struct avoidable *a)
{
	const struct run_operand *row = (const struct run_operand *)a->run->operands.rows;
	const struct run_operand *end = run_rows_end(&a->run->operands);

	a->knows_written = 1;
	for (; row < end; row++)
		if (row->role != OPERAND_SRC && row->allocation)
			map_set(&a->written, row->allocation, 1);
	return 0;
}

/*
 * Returns 1 for a copy within host memory from an address that no device work writes; -1: out of
 * memory.
 */
static int copies_host_data(struct avoidable *a, const struct run_call *call, uint32_t id)
{
	const struct run_operand *row, *end = run_rows_end(&a->run->operands);

	if (!is_host(run_payload(a->run, call)->src))
		return 0;
	if (!a->knows_written && find_written(a))
		return -1;
	row = run_find(&a->run->operands, id);
	for (; row && row < end && row->call == id; row++)
		if (row->role == OPERAND_SRC && map_get(&a->written, row->allocation, 0))
			return 0;
	return 1;
}

static struct wait_operation operation_of(const struct run *run, int64_t id)
{
	const struct run_call *call = run_call(run, id);
	const struct run_stream *stream = run_stream(run, call ? call->stream : 0);

	return (struct wait_operation){ .call = id,
		.start = INT64_MAX,
		.end = INT64_MIN,
		.stream = call ? call->stream : 0,
		.context = stream->context,
		.kind = (enum stream_kind)stream->kind,
		.device = run_context(run, stream->context)->device };
}

/* Reads the first start and the last end of the call's own operations. */
static void read_itself(const struct run *run, const struct run_call *call, struct wait *wait)
{
	uint32_t id = call->last_work;

	wait->itself = operation_of(run, wait->call);
	while (id) {
		const struct run_work *work = run_work(run, id);
		int64_t end = run_end(run, work, id);

		if (end != RUN_NEVER && end > wait->itself.end)
			wait->itself.end = end;
		if (work->start < wait->itself.start)
			wait->itself.start = work->start;
		id = work->next == call->last_work ? 0 : work->next;
	}
}

static int read_wait(struct avoidable *a, struct wait *wait)
{
	const struct run_call *call = run_call(a->run, wait->call);
	const struct run_work *work = run_work(a->run, wait->by.op);
	int host_data = 0;

	wait->behind = operation_of(a->run, work->call);
	wait->behind.start = work->start;
	wait->behind.end = run_end(a->run, work, (uint32_t)wait->by.op);
	read_itself(a->run, call, wait);
	wait->is_async = call_is_async_copy(call->kind);
	wait->is_copy = call_is_sync(call->kind);
	wait->to_host = call_is_sync_copy(call->kind) && is_host(run_payload(a->run, call)->dst);
	wait->on_default = wait->is_copy &&
		(wait->itself.kind == STREAM_KIND_LEGACY ||
			wait->itself.kind == STREAM_KIND_THREAD);
	if (wait->to_host)
		host_data = copies_host_data(a, call, (uint32_t)wait->call);
	wait->to_host = wait->to_host && !host_data;
	wait->stretch = stretches_find(&a->stretches, wait->process, wait->enter);
	return host_data < 0 ? -1 : 0;
}

/* A wait after which the process submits nothing more is ignored: the process is ending. */
static int may_be_avoidable(const struct avoidable *a, const struct wait *wait)
{
	if (!wait->number ||
		(wait->kind != WAIT_IMPLICIT && wait->kind != WAIT_INTERNAL &&
			wait->kind != WAIT_STAGED && !wait->partner))
		return 0;
	return run_work(a->run, wait->by.op) &&
		(uint64_t)wait->call < map_get(&a->last, (uint64_t)wait->process, 0);
}

/* Finds the last call of each process that submitted an operation. */
static int find_last(const struct run *run, struct map *last)
{
	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);

		if (work && work->call > map_get(last, run_where(run, work)->process, 0))
			map_set(last, run_where(run, work)->process, work->call);
	}
	return 0;
}

int waits_find_avoidable(struct db *db, struct wait_list *list)
{
	struct avoidable a = { .run = db->run };
	int rc = segments_open(&a.segments, db) || stretches_load(&a.stretches, db) ||
			find_last(a.run, &a.last) || pinned_find(&a.pinned, db)
		? -1
		: 0;

	for (size_t i = 0; i < list->count && !rc; i++) {
		struct wait *wait = &list->wait[i];

		if (may_be_avoidable(&a, wait))
			rc = read_wait(&a, wait) || judge(&a, wait) ? -1 : 0;
		else if (wait->number && wait->kind == WAIT_EXPLICIT)
			a.run->evidence.wait[wait->number].partner = 0;
	}
	segments_close(&a.segments);
	pinned_release(&a.pinned);
	stretches_release(&a.stretches);
	map_release(&a.last);
	map_release(&a.written);
	return rc;
}
