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

#include "array.h"
#include "pinned_copies.h"
#include "run_columns.h"
#include "stretches.h"
#include "waits_segment.h"

struct avoidable {
	struct segments segments;
	struct pinned_copies pinned;
	const struct run *run;
	struct run_evidence *evidence;
};

/* Does the thread merely use the result of a synchronous copy?  Not if a script's line hides it. */
static int is_by_intent(struct avoidable *a, const struct judged_wait *wait)
{
	int script = wait->to_host ? segments_of_script(&a->segments, wait->call) : 1;

	return script < 0 ? -1 : !script || wait->past_results;
}

static int64_t idle_that_counts(const struct judged_wait *wait, const struct segment *segment,
	int64_t idle)
{
	int copy = wait->is_copy || (wait->is_async && !wait->partner);

	if ((copy || segment->row_count) && idle < ROUND_TRIP_NS)
		return 0;
	return !segment->submits && idle < BLOCKED_MIN_NS ? 0 : idle;
}

static int lost(struct avoidable *a, struct judged_wait *wait, struct segment *segment, int64_t *ns)
{
	int64_t from = wait->op_end, until = segment->until;
	int by_intent = is_by_intent(a, wait);
	struct span_sums sums;

	if (wait->own_end > from)
		from = wait->own_end;
	if (from > wait->exit || !segment->submits)
		from = wait->exit;
	if (segment->last_end > until)
		until = segment->last_end;
	if (by_intent < 0 || spans_sum(&segment->spans, from, until, &sums))
		return -1;
	*ns = sums.apart;
	if (!by_intent)
		*ns += idle_that_counts(wait, segment, sums.idle);
	if (*ns > wait->waited)
		*ns = wait->waited;
	return 0;
}

static int measure(struct avoidable *a, struct judged_wait *wait, int64_t *ns)
{
	struct segment segment = { .until = 0 };
	int rc = segments_measure(&a->segments, wait, &segment) || lost(a, wait, &segment, ns);

	spans_release(&segment.spans);
	return rc ? -1 : 0;
}

/*
 * Measures the wait for the call's own transfer, of which at most the transfer's time was
 * avoidable.
 */
static int measure_own(struct avoidable *a, const struct judged_wait *wait, int64_t *ns)
{
	struct judged_wait own = *wait;
	int64_t took = wait->own_end - wait->op_end, others = *ns;

	own.op_call = wait->call;
	own.op_end = wait->own_end;
	own.stream = wait->own_stream;
	own.stream_kind = wait->own_kind;
	own.context = wait->own_context;
	own.device = wait->own_device;
	own.waited = took + wait->exit - wait->own_end;
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
static int add_upload(struct avoidable *a, const struct judged_wait *wait, int64_t *ns)
{
	int64_t since = wait->op_start > wait->enter ? wait->op_start : wait->enter;
	int64_t from = wait->own_start > wait->op_end ? wait->own_start : wait->op_end;
	int64_t could = overlap(wait->own_end - from, wait->op_end - since);
	int apart = could ? segments_own_apart(&a->segments, wait) : 0;

	if (apart > 0)
		*ns = *ns + could < wait->waited ? *ns + could : wait->waited;
	return apart < 0 ? -1 : 0;
}

static int is_upload(const struct judged_wait *wait)
{
	return wait->is_copy && !wait->to_host && wait->op_call != wait->call &&
		wait->own_end > wait->op_end;
}

/* Did the copy wait for something else, and then for its own transfer? */
static int has_own_transfer(const struct judged_wait *wait)
{
	return wait->is_async && !wait->explicit_wait && wait->op_call != wait->call &&
		wait->own_end > wait->op_end && wait->own_end <= wait->exit;
}

/* Measures the avoidable time together with the copy to the host after it, if that is more. */
static int measure_with_result(struct avoidable *a, struct judged_wait *wait, int64_t *ns)
{
	struct judged_wait both = *wait;
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
static int measure_independent(struct avoidable *a, const struct judged_wait *wait, int64_t *ns)
{
	struct judged_wait apart = *wait;

	if (!wait->is_async || wait->own_kind != STREAM_KIND_LEGACY)
		return 0;
	apart.leaves = 1;
	return measure(a, &apart, ns);
}

/* The transfer itself would have been shorter; the next call need not follow at once. */
static int64_t shorter(const struct avoidable *a, const struct judged_wait *wait)
{
	int64_t ns = wait->partner ? 0 : pinned_excess(&a->pinned, a->run, wait->call);

	return ns < BLOCKED_MIN_NS ? 0 : ns;
}

static void set_avoidable(struct avoidable *a, const struct judged_wait *wait, int64_t ns,
	int64_t apart, int64_t partner)
{
	struct run_wait *row = &a->evidence->wait[wait->id];

	row->shorter = shorter(a, wait);
	row->avoidable = ns > row->shorter ? ns : row->shorter;
	row->apart = apart;
	row->partner = (uint32_t)partner;
}

static int judge(struct avoidable *a, struct judged_wait *wait)
{
	struct judged_wait before = *wait;
	int64_t ns = 0, apart = 0;
	int rc = 1;

	/* An explicit wait is avoidable only together with the copy in the same line. */
	if (wait->explicit_wait)
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

struct collector {
	struct run *run;
	struct stretches stretches;
	struct map last;    /* process -> its last call that submitted an operation */
	struct map written; /* allocations that an operand other than a source names */
	int knows_written;
	struct judged_wait *wait;
	size_t count;
};

static int is_host(unsigned memory)
{
	return memory == MEMORY_PAGEABLE || memory == MEMORY_PINNED;
}

static int find_written(struct collector *c)
{
	const struct run_operand *row = (const struct run_operand *)c->run->operands.rows;
	const struct run_operand *end = run_rows_end(&c->run->operands);

	c->knows_written = 1;
	for (; row < end; row++)
		if (row->role != OPERAND_SRC && row->allocation &&
			map_set(&c->written, row->allocation, 1))
			return -1;
	return 0;
}

/*
 * Returns 1 for a copy within host memory from an address that no device work writes; -1: out of
 * memory.
 */
static int copies_host_data(struct collector *c, const struct run_call *call, uint32_t id)
{
	const struct run_operand *row, *end = run_rows_end(&c->run->operands);

	if (!is_host(run_payload(c->run, call)->src))
		return 0;
	if (!c->knows_written && find_written(c))
		return -1;
	row = run_find(&c->run->operands, id);
	for (; row && row < end && row->call == id; row++)
		if (row->role == OPERAND_SRC && map_get(&c->written, row->allocation, 0))
			return 0;
	return 1;
}

/* Reads the own operations' start and last end: end is INT64_MIN without one. */
static void read_own(const struct run *run, const struct run_call *call, struct judged_wait *wait)
{
	uint32_t id = call->last_work;
	const struct run_stream *stream = run_stream(run, call->stream);

	wait->own_stream = call->stream;
	wait->own_kind = (enum stream_kind)stream->kind;
	wait->own_context = stream->context;
	wait->own_device = run_context(run, stream->context)->device;
	wait->own_end = INT64_MIN;
	wait->own_start = INT64_MAX;
	while (id) {
		const struct run_work *work = run_work(run, id);
		int64_t end = run_end(run, work, id);

		if (end != RUN_NEVER && end > wait->own_end)
			wait->own_end = end;
		if (work->start < wait->own_start)
			wait->own_start = work->start;
		id = work->next == call->last_work ? 0 : work->next;
	}
}

static void read_behind(const struct run *run, uint32_t op, struct judged_wait *wait)
{
	const struct run_work *work = run_work(run, op);
	const struct run_call *call = run_call(run, work->call);
	const struct run_stream *stream = run_stream(run, call ? call->stream : 0);

	wait->op_call = work->call;
	wait->op_start = work->start;
	wait->op_end = run_end(run, work, op);
	wait->stream = call ? call->stream : 0;
	wait->stream_kind = (enum stream_kind)stream->kind;
	wait->context = stream->context;
	wait->device = run_context(run, stream->context)->device;
}

static int read_wait(struct collector *c, uint32_t number, struct judged_wait *wait)
{
	const struct run_wait *row = &c->run->evidence.wait[number];
	const struct run_call *call = run_call(c->run, row->call);
	int host_data = 0;

	*wait = (struct judged_wait){
		.id = number,
		.call = row->call,
		.thread = call->thread,
		.process = run_payload(c->run, call)->process,
		.enter = call->enter,
		.exit = run_exit(c->run, call, row->call),
		.waited = row->waited,
		.partner = row->partner,
		.explicit_wait = row->kind == WAIT_EXPLICIT,
		.staged = row->kind == WAIT_STAGED,
		.is_async = call_is_async_copy(call->kind),
		.is_copy = call_is_sync(call->kind),
		.to_host = call_is_sync_copy(call->kind) && is_host(run_payload(c->run, call)->dst),
	};
	read_behind(c->run, row->op, wait);
	read_own(c->run, call, wait);
	wait->on_default = wait->is_copy &&
		(wait->own_kind == STREAM_KIND_LEGACY || wait->own_kind == STREAM_KIND_THREAD);
	if (wait->to_host)
		host_data = copies_host_data(c, call, row->call);
	wait->to_host = wait->to_host && !host_data;
	wait->stretch = stretches_find(&c->stretches, wait->process, wait->enter);
	return host_data < 0 ? -1 : 0;
}

/* A wait after which the process submits nothing more is ignored: the process is ending. */
static int may_be_avoidable(const struct collector *c, const struct run_wait *wait)
{
	const struct run_call *call = run_call(c->run, wait->call);

	if (wait->kind != WAIT_IMPLICIT && wait->kind != WAIT_INTERNAL &&
		wait->kind != WAIT_STAGED && !wait->partner)
		return 0;
	return call && run_work(c->run, wait->op) &&
		wait->call < map_get(&c->last, run_payload(c->run, call)->process, 0);
}

/* Finds the last call of each process that submitted an operation. */
static int find_last(const struct run *run, struct map *last)
{
	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);

		if (work && work->call > map_get(last, run_where(run, work)->process, 0) &&
			map_set(last, run_where(run, work)->process, work->call))
			return -1;
	}
	return 0;
}

static int collect(struct collector *c, struct db *db)
{
	int rc = stretches_load(&c->stretches, db) || find_last(c->run, &c->last) ? -1 : 0;

	for (uint32_t i = 1; i < c->run->evidence.wait_count && !rc; i++) {
		struct judged_wait *more;

		if (!may_be_avoidable(c, &c->run->evidence.wait[i])) {
			if (c->run->evidence.wait[i].kind == WAIT_EXPLICIT)
				c->run->evidence.wait[i].partner = 0;
			continue;
		}
		more = array_room(c->wait, c->count, sizeof(*more));
		if (!more)
			return -1;
		c->wait = more;
		rc = read_wait(c, i, &more[c->count++]);
	}
	return rc;
}

int waits_find_avoidable(struct db *db)
{
	struct collector c = { .run = db->run };
	struct avoidable a = { .evidence = &db->run->evidence, .run = db->run };
	int rc = segments_open(&a.segments, db) || collect(&c, db) || pinned_find(&a.pinned, db)
		? -1
		: 0;

	for (size_t i = 0; i < c.count && !rc; i++)
		rc = judge(&a, &c.wait[i]);
	segments_close(&a.segments);
	pinned_release(&a.pinned);
	stretches_release(&c.stretches);
	map_release(&c.last);
	map_release(&c.written);
	free(c.wait);
	return rc;
}
