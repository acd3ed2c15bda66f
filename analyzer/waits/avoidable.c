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
#include <stdlib.h>

#include "bounds.h"
#include "busy.h"
#include "conflict.h"
#include "constants.h"
#include "pinned_copies.h"
#include "scope.h"
#include "avoidable_internal.h"

/* Maximum length of a row: consecutive copies that are one mistake. */
#define SEGMENT_ROW 8

/* What a time of the segment was: the first of these that applies counts. */
enum span_kind {
	SPAN_AFTER,     /* the device ran work ordered after the operation */
	SPAN_APART,     /* the device ran work independent of it */
	SPAN_ELSEWHERE, /* the thread waited for something else */
	SPAN_KINDS
};

/* The time between a wait and the next one that covers its operation. */
struct segment {
	const struct wait *wait;
	struct wait_operation behind; /* the operation */
	int64_t waited;               /* for it, ns */
	uint8_t past_results;         /* copies like `result` are fixed, too */
	int64_t partner;              /* as wait.partner, found if not given */
	int64_t result; /* a copy to the host that closed the segment and would have waited in place
			   of the wait, 0: none */

	struct busy up_to[SPAN_KINDS]; /* time of this kind or an earlier one */
	int64_t until;            /* entry of the next one, or return of the thread's last call */
	int64_t last_end;         /* last end of an operation */
	int64_t elsewhere, apart; /* sums, ns */
	int submits, after, legacy;
	int64_t row[SEGMENT_ROW];
	size_t row_count;
	size_t async_count; /* Async copies of the row, which keep their order */
};

/* --- which calls the segment ends at --- */

/* Did anything block the call besides its own operation, which the device began late? */
static int is_for_others(const struct run *run, int64_t call)
{
	const struct run_wait *wait = run_wait_of(&run->evidence, call);

	for (; wait; wait = run_next_wait(&run->evidence, wait)) {
		const struct run_work *work = run_work(run, wait->op);

		if (!work || work->call != call)
			return 1;
	}
	return 0;
}

/* A copy from pageable memory is staged, and a small one does nothing else. */
static int may_not_wait(const struct walk_call *call)
{
	if (scope_of(call) == SCOPE_STREAM)
		return call_is_async_copy(call->kind) && !scope_includes_own(call);
	return scope_empties_device(call) && scope_of(call) != SCOPE_NONE;
}

static int is_implicit(const struct wait *wait)
{
	return wait->kind != WAIT_STAGED && wait->kind != WAIT_EXPLICIT;
}

static int is_side_effect(const struct wait *wait)
{
	return !wait->is_copy && !wait->is_async && is_implicit(wait);
}

/* A copy to the host waits on purpose. */
static int is_about_results(const struct segment *s)
{
	return s->wait->to_host || s->past_results;
}

/*
 * A call that waits as a side effect and the synchronous copies to the device after it are one
 * mistake, fixed together: the second one would wait in place of the first.  A copy to the host
 * begins its own row: the results of a round, fetched one by one.  After a side effect both costs
 * are computed: for the first call alone, and for both.
 */
static int is_of_row(const struct walk_call *call, const struct segment *s)
{
	return (s->wait->on_default || is_side_effect(s->wait)) && s->row_count < SEGMENT_ROW &&
		call_is_sync(call->kind) &&
		(call->stream_kind == STREAM_KIND_LEGACY ||
			call->stream_kind == STREAM_KIND_THREAD) &&
		scope_of(call) != SCOPE_NONE && call->direction != COPY_H2H &&
		(is_about_results(s) || call->direction != COPY_D2H);
}

/*
 * An Async copy and the pageable ones after it in its stream are one row too: the fix that pins one
 * result's memory pins the next one's.
 */
static int is_of_async_row(const struct walk_call *call, const struct segment *s)
{
	return s->wait->is_async && is_implicit(s->wait) && s->async_count < SEGMENT_ROW &&
		call_is_async_copy(call->kind) && call->stream == s->wait->itself.stream &&
		scope_of(call) != SCOPE_NONE;
}

/*
 * Returns 1 if the call, or a wait in the place of a query, would have waited for the operation,
 * had that still been pending; -1 after a message.
 */
static int covers(struct avoidable *a, const struct walk_call *call, const struct segment *s)
{
	enum scope scope = scope_requested(call);

	if (call->result)
		return 0;
	/*
	 * After a copy to the host the thread waits for the remaining work, or fetches another
	 * device's result: then the next round follows.  Not if it had observed that complete, as
	 * with the events of a ring of buffers.
	 */
	if (is_about_results(s) && !map_get(&a->run->evidence.knows, (uint64_t)call->id, 0) &&
		(scope_is_explicit(call) ||
			(call_is_sync_copy(call->kind) && call->direction == COPY_D2H &&
				call->stream_context != s->behind.context))) {
		int script = script_lines_has(&a->lines, s->wait->call);

		if (script <= 0)
			return script < 0 ? -1 : 1;
	}
	if (is_of_async_row(call, s) || is_of_row(call, s) || may_not_wait(call)) {
		int any = may_not_wait(call) && !is_of_async_row(call, s);

		if (any ? !run_wait_of(&a->run->evidence, call->id)
			: !is_for_others(a->run, call->id))
			return 0;
	}
	if (scope == SCOPE_NONE)
		return 0;
	if (scope == SCOPE_CONTEXT)
		return call->context == s->behind.context;
	if (scope == SCOPE_DEVICE)
		return call->device == s->behind.device;
	if (scope == SCOPE_PROCESS ||
		((scope == SCOPE_STREAM || scope == SCOPE_OWN) && call->stream == s->behind.stream))
		return 1;
	return order_path_exists(a->path, call->id, s->behind.call);
}

/* --- what happened until then --- */

/*
 * Does a call use what the copy reads or writes?  The extent of a kernel's access is unknown: a
 * pointer below the copy's bytes may reach them.  Variables are left out: a copy into a variable
 * could be replaced by an argument.  Returns an enum access_overlap, or -1 after a message.
 */
static int use_of(struct avoidable *a, int64_t copy, int64_t call)
{
	const struct accesses *one = access_read(a->reader, copy);
	const struct accesses *other = one ? access_read(a->reader, call) : NULL;
	int is_launch = kind_family(run_call(a->run, call)->kind) == FAMILY_launch;
	int found = other ? OVERLAP_NONE : -1;

	for (size_t i = 0; other && i < one->count; i++) {
		const struct memory_access *access = &one->access[i];
		const struct column *operands = &a->run->operands;
		const struct run_operand *word = is_launch ? run_find(operands, call) : NULL;

		if (run_is_variable(a->run, access->allocation))
			continue;
		for (; word; word = run_next(operands, word))
			if (word->allocation == access->allocation && word->address < access->high)
				found = word->address < access->low && found != OVERLAP_SURE
					? OVERLAP_MAYBE
					: OVERLAP_SURE;
		for (size_t k = 0; !is_launch && k < other->count; k++)
			found = (int)at_least(found, access_overlap(access, &other->access[k]));
	}
	return found;
}

/*
 * Returns whether a later call's work must come after the operation; -1 after a message.  An order
 * by a copy in a default stream is not required, unless the copy orders the two by its data.
 */
static int comes_after(struct avoidable *a, const struct walk_call *call, const struct segment *s)
{
	enum stream_kind kind = s->behind.kind;
	int64_t moved[SEGMENT_ROW];
	size_t count = 0;
	int after;

	/* Legacy work and the work of blocking streams run one after the other. */
	if (call->stream_kind == STREAM_KIND_LEGACY
			? stream_is_blocking(kind)
			: s->legacy && stream_is_blocking(call->stream_kind) &&
				(stream_is_blocking(kind) || kind == STREAM_KIND_LEGACY))
		return 1;
	if (call->stream == s->behind.stream)
		return 1;
	/*
	 * The wait for a result comes before objects made for the next result, including streams.
	 * Default streams always exist.
	 */
	if (is_about_results(s) && run_stream(a->run, call->stream)->created > s->wait->call)
		return 1;
	for (size_t i = 0; i < s->row_count; i++) {
		int one = use_of(a, s->row[i], s->behind.call);
		int other = one > OVERLAP_NONE ? use_of(a, s->row[i], call->id) : one;

		if (one < 0 || other < 0)
			return -1;
		/* A pointer to the copy's bytes shows that the program passes parts. */
		if (one == OVERLAP_NONE || one != other)
			moved[count++] = s->row[i];
	}
	after = order_path_exists_moved(a->path, call->id, s->behind.call, moved, count);
	return after ? after
		     : access_may_conflict(a->reader, s->behind.call, call->id, CONFLICT_SHOWN);
}

static void add_span(struct segment *s, enum span_kind kind, int64_t start, int64_t end)
{
	for (int k = kind; k < SPAN_KINDS; k++)
		busy_add(&s->up_to[k], start, end);
}

static int is_same_line(struct avoidable *a, int64_t call, int64_t other)
{
	int same;

	db_lock(a->db);
	same = script_lines_same(&a->lines, call, other);
	db_unlock(a->db);
	return same;
}

static int is_in_script(struct avoidable *a, int64_t call)
{
	int is;

	db_lock(a->db);
	is = script_lines_has(&a->lines, call);
	db_unlock(a->db);
	return is;
}

/* Returns 1 if the segment is closed, 0 to continue with the next call, -1 after a message. */
static int process_call(struct avoidable *a, const struct walk_call *call, struct segment *s)
{
	const struct wait *wait = s->wait;
	int found = covers(a, call, s), same = 0, after;

	if (found < 0)
		return -1;
	if (found) {
		/* The program's own wait in the line of an Async copy is not a separate wait. */
		if (wait->is_async && !s->partner && scope_is_explicit(call))
			same = is_same_line(a, wait->call, call->id);
		if (same) {
			s->partner = same > 0 ? call->id : 0;
			return same < 0 ? -1 : 0;
		}
		/* This copy, which covers the operation, waits only without the side effect. */
		if (is_side_effect(wait) && !s->past_results && call_is_sync_copy(call->kind) &&
			call->direction == COPY_D2H && !is_for_others(a->run, call->id))
			s->result = call->id;
		s->until = call->enter;
		return 1;
	}
	s->until = call->exit;
	/* A call that drains the device does its own work only then: never concurrently. */
	if (scope_of(call) != SCOPE_NONE &&
		(scope_empties_device(call) || call->exit - call->enter > BLOCKED_MIN_NS)) {
		s->elsewhere += call->exit - call->enter;
		add_span(s, SPAN_ELSEWHERE, call->enter, call->exit);
	}
	if (walk_submits(call) && !call->result) {
		s->submits = 1;
		if (is_of_row(call, s)) {
			s->row[s->row_count++] = call->id;
		} else {
			s->async_count += (size_t)is_of_async_row(call, s);
			after = comes_after(a, call, s);
			if (after < 0)
				return -1;
			s->legacy |= call->stream_kind == STREAM_KIND_LEGACY;
			if (call->op_start != WALK_NEVER && call->op_end != WALK_NEVER) {
				s->after |= after;
				s->apart += after ? 0 : call->op_end - call->op_start;
				s->last_end = at_least(s->last_end, call->op_end);
				add_span(s, after ? SPAN_AFTER : SPAN_APART, call->op_start,
					call->op_end);
			}
		}
	}
	/* No more than the wait is avoidable. */
	return (!s->after && s->apart >= s->waited) ||
		s->until - wait->exit - s->elsewhere >= s->waited;
}

/*
 * Could the call's own operation have been concurrent with the operation that it waited for?
 * Returns -1 after a message.
 */
static int is_own_apart(struct avoidable *a, const struct wait_operation *behind, int64_t call)
{
	int conflict = access_may_conflict(a->reader, behind->call, call, CONFLICT_UNNAMED);

	return conflict < 0 ? -1 : !conflict;
}

/*
 * Fills the segment's time.  script: the wait is a copy to the host in a line that does not show
 * it.  Returns 0, or -1 after a message.
 */
static int follow(struct avoidable *a, struct segment *s, int script)
{
	const struct wait *wait = s->wait;
	struct walk_call call;
	int rc, closed = 0;

	s->until = wait->exit;
	s->last_end = INT64_MIN;
	if (wait->on_default)
		s->row[s->row_count++] = wait->call;
	/*
	 * The copy fetched the last of several devices' results, one by one: the next round begins
	 * after it, also on the devices that had finished before.
	 */
	for (int64_t id = wait->to_host && !script ? wait->call - 1 : 0; id > 0; id--) {
		const struct run_call *before = run_call(a->run, id);
		const struct run_payload *payload;

		if (!before || before->thread != wait->thread || !before->stream ||
			before->kind == KIND_RUNTIME)
			continue;
		payload = run_payload(a->run, before);
		rc = call_is_sync_copy(before->kind) && memory_is_host(payload->dst) &&
				run_stream(a->run, before->stream)->context != s->behind.context
			? is_own_apart(a, &s->behind, wait->call)
			: 1;
		closed = rc < 0 ? -1 : !rc;
		break;
	}
	walk_thread_seek(a->walk, wait->thread, wait->call);
	for (int i = 0; i < SEGMENT_CALLS && !closed; i++) {
		/* Work after recording stopped may have waited at once. */
		if (walk_thread_next(a->walk, &call) <= 0 || call.exit == WALK_NEVER ||
			call.stretch != wait->stretch)
			break;
		if (call.exit > wait->exit) /* otherwise it was made within the wait */
			closed = process_call(a, &call, s);
	}
	return closed < 0 ? -1 : 0;
}

/* --- what of it was avoidable --- */

/* Sets *ns to the avoidable time of a wait for s->behind.  Returns 0, or -1 after a message. */
static int measure(struct avoidable *a, struct segment *s, int64_t *ns)
{
	const struct wait *wait = s->wait;
	int script = wait->to_host ? is_in_script(a, wait->call) : 1;
	int64_t from = s->behind.end, until, spent[SPAN_KINDS], apart, idle;
	int rc = script < 0 ? -1 : follow(a, s, script);

	from = at_least(from, wait->itself.end);
	if (from > wait->exit || !s->submits)
		from = wait->exit;
	until = at_least(s->until, s->last_end);
	for (int k = 0; k < SPAN_KINDS; k++) {
		busy_join(&s->up_to[k]);
		spent[k] = busy_between(&s->up_to[k], from, until);
		busy_release(&s->up_to[k]);
	}
	if (rc)
		return -1;
	/* Neither ran, and the thread waited for nothing else; independent work ran alone. */
	idle = at_least(until - from, 0) - spent[SPAN_ELSEWHERE];
	apart = spent[SPAN_APART] - spent[SPAN_AFTER];
	/* Waking up after a copy and starting the next work takes its time. */
	if ((wait->is_copy || (wait->is_async && !s->partner) || s->row_count) &&
		idle < ROUND_TRIP_NS)
		idle = 0;
	if (!s->submits && idle < BLOCKED_MIN_NS)
		idle = 0;
	/* The thread merely uses the result of a copy, unless a script's line hides it. */
	*ns = apart + (!script || s->past_results ? 0 : idle);
	*ns = at_most(*ns, s->waited);
	return 0;
}

/* Sets what the wait cost in its row.  Returns 0, or -1 after a message. */
static int set_avoidable(struct avoidable *a, struct wait *wait)
{
	const struct segment alone = { .wait = wait,
		.behind = wait->by,
		.waited = wait->waited,
		.partner = wait->partner };
	const struct wait_operation *by = &wait->by, *own = &wait->itself;
	struct segment s = alone, transfer = alone, both = alone;
	struct run_wait *row = &a->run->evidence.wait[wait->number];
	int64_t ns = 0, more = 0, shorter, could;
	int apart;

	if (measure(a, &s, &ns))
		return -1;
	wait->partner = s.partner;
	/* The wait for the own transfer, of which at most the transfer's time was avoidable. */
	if (wait->is_async && wait->kind != WAIT_EXPLICIT && by->call != wait->call &&
		own->end > by->end && own->end <= wait->exit) {
		transfer.behind = *own;
		transfer.waited = wait->exit - by->end;
		if (measure(a, &transfer, &more))
			return -1;
		ns = at_least(more, ns);
	}
	/*
	 * The delay of a synchronous copy to the device that could have been concurrent, up to the
	 * time of both.
	 */
	if (wait->is_copy && !wait->to_host && by->call != wait->call && own->end > by->end) {
		could = at_most(own->end - at_least(own->start, by->end),
			by->end - at_least(by->start, wait->enter));
		apart = could < ROUND_TRIP_NS ? 0 : is_own_apart(a, by, wait->call);
		if (apart < 0)
			return -1;
		if (apart)
			ns = at_most(ns + could, wait->waited);
	}
	/* Together with the copy to the host after it, if that is more. */
	if (s.result) {
		both.past_results = 1;
		if (measure(a, &both, &more))
			return -1;
		if (more > ns) {
			ns = more;
			wait->partner = s.result;
		}
	}
	/* The transfer itself would have been shorter; the next call need not follow at once. */
	shorter = pinned_excess(&a->pinned, a->run, wait->call);
	row->shorter = shorter < BLOCKED_MIN_NS ? 0 : shorter;
	row->avoidable = at_least(ns, row->shorter);
	row->partner = (uint32_t)wait->partner;
	return 0;
}

/* --- which waits --- */

static void read_wait(struct avoidable *a, struct wait *wait)
{
	const struct run_call *call = run_call(a->run, wait->call);
	const struct run_payload *payload = run_payload(a->run, call);
	const struct run_work *work = run_work(a->run, wait->by.op);
	const struct run_operand *row = (const struct run_operand *)a->run->operands.rows;
	const struct run_operand *end = run_rows_end(&a->run->operands);
	struct wait_operation *itself = &wait->itself, by = wait_operation_of(a->run, work->call);

	by.op = wait->by.op;
	by.start = work->start;
	by.end = run_end(a->run, work, by.op);
	wait->by = by;
	*itself = wait_operation_of(a->run, wait->call);
	wait->is_async = call_is_async_copy(call->kind);
	wait->is_copy = call_is_sync(call->kind);
	wait->on_default = wait->is_copy &&
		(itself->kind == STREAM_KIND_LEGACY || itself->kind == STREAM_KIND_THREAD);
	wait->stretch = stretches_find(&a->stretches, wait->process, wait->enter);
	wait->to_host = call_is_sync_copy(call->kind) && memory_is_host(payload->dst);
	if (!wait->to_host || !memory_is_host(payload->src))
		return;
	/* Within host memory it counts only from an address that some device work writes. */
	for (; !a->knows_written && row < end; row++)
		if (row->role != OPERAND_SRC && row->allocation)
			map_set(&a->written, row->allocation, 1);
	a->knows_written = 1;
	wait->to_host = 0;
	row = run_find(&a->run->operands, (uint32_t)wait->call);
	for (; row; row = run_next(&a->run->operands, row))
		if (row->role == OPERAND_SRC && map_get(&a->written, row->allocation, 0))
			wait->to_host = 1;
}

/*
 * Sets whether an Async copy to pageable memory is the program's only wait for what it copies: then
 * the host may use that as soon as the copy returns.  Otherwise it waits before the copy's memory
 * is named again, or, of memory that many copies leave alone, as of chunks, at some later time.
 * That other Async copies wait counts for nothing: it ends with the same fix.  Returns 0, or -1
 * after a message.
 */
static int find_other_wait(struct avoidable *a, const struct wait *wait)
{
	enum { CALLS_MOST = 512 };
	const struct run_payload *payload = run_payload(a->run, run_call(a->run, wait->call));
	const struct segment s = { .wait = wait, .behind = wait->itself };
	struct run_wait *row = &a->run->evidence.wait[wait->number];
	struct walk_call call;
	int step, found;

	if (!wait->is_async || payload->dst != MEMORY_PAGEABLE)
		return 0;
	row->alone = LONE_YES;
	walk_thread_seek(a->walk, wait->thread, wait->call);
	for (int i = 0; i < CALLS_MOST; i++) {
		step = walk_thread_next(a->walk, &call);
		if (step <= 0)
			return step;
		if (call.exit == WALK_NEVER || call.stretch != wait->stretch) {
			row->alone = LONE_UNSEEN;
			return 0;
		}
		if (call.exit <= wait->exit) /* it was made within the wait */
			continue;
		if (call_is_copy(call.kind) && payload->pageable &&
			run_payload(a->run, run_call(a->run, call.id))->pageable ==
				payload->pageable)
			return 0;
		found = call_is_async_copy(call.kind) ? 0 : covers(a, &call, &s);
		if (found < 0)
			return -1;
		if (found)
			break;
	}
	row->alone = LONE_NO;
	return 0;
}

int avoidable_judge(struct avoidable *a, struct wait *wait, const struct map *last)
{
	int may = wait->number && wait->kind != WAIT_BEHIND && run_work(a->run, wait->by.op);

	if (may) {
		read_wait(a, wait);
		may = find_other_wait(a, wait)
			? -1
			: (uint64_t)wait->call < map_get(last, (uint64_t)wait->process, 0);
	}
	/* An explicit wait is avoidable only together with the copy in the same line. */
	if (may > 0 && wait->kind == WAIT_EXPLICIT)
		may = wait->partner ? is_same_line(a, wait->call, wait->partner) : 0;
	if (may > 0)
		return set_avoidable(a, wait);
	if (wait->number && wait->kind == WAIT_EXPLICIT)
		a->run->evidence.wait[wait->number].partner = 0;
	return may;
}
