/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Was a call blocked, and by what?  In order of the calls: which of them may have been blocked, and
 * the usual durations of those that were not.  At the end: whether each lasted longer than is usual
 * until an operation ended that it can wait for, or until another thread's blocked call did.
 */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "large.h"
#include "memory.h"
#include "polls.h"
#include "radix_sort.h"
#include "rows.h"
#include "scope.h"
#include "sorted.h"
#include "stretches.h"
#include "wait.h"
#include "waits.h"

/*
 * A thread's last Async copy to the host: the work before it is the actual reason to wait for it.
 */
struct copy_back {
	struct wait_operation before, own;
};

struct waits *waits_new(struct db *db, struct run_evidence *evidence)
{
	struct waits *waits = xcalloc(1, sizeof(*waits));
	/* CU_CTX_SCHED_MASK and CU_CTX_SCHED_BLOCKING_SYNC, of cuda.h. */
	sqlite3_stmt *q = db_prepare(db,
		"SELECT id, max(1, ifnull(clock_error, 1)), EXISTS (SELECT 1 FROM context "
		"WHERE process = p.id AND flags & 7 = 4) FROM process p");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		struct wait_timing *timing =
			id_map_need(&waits->timings, sqlite3_column_int64(q, 0), sizeof(*timing));

		timing->clock_error = sqlite3_column_int64(q, 1);
		timing->blocking = sqlite3_column_int(q, 2);
	}
	sqlite3_finalize(q);
	waits->db = db;
	waits->evidence = evidence;
	for (uint32_t id = 1; id < db->run->allocations.count; id++)
		waits->has_pools |= run_allocation(db->run, id)->kind == ALLOCATION_ASYNC;
	if (!resizes_read(&waits->resizes, db) && !step)
		return waits;
	waits_free(waits);
	return NULL;
}

void waits_free(struct waits *waits)
{
	if (!waits)
		return;
	pending_release(&waits->pending);
	resizes_release(&waits->resizes);
	pool_trims_release(&waits->trims);
	samples_release(&waits->samples);
	id_map_release(&waits->timings, free);
	id_map_release(&waits->copies, free);
	id_map_release(&waits->uses, free);
	large_free(waits->wait);
	free(waits);
}

/* --- which calls may have been blocked --- */

static struct wait_operation operation(int64_t call, int64_t op, int64_t end)
{
	return (struct wait_operation){ .call = call, .op = op, .end = end };
}

static void add_use(struct waits *waits, int64_t process, int kind, int64_t waited)
{
	struct wait_use *use = id_map_need(&waits->uses, process << 8 | kind, sizeof(*use));

	use->count++;
	use->waited += waited;
}

void wait_add_row(struct waits *waits, struct wait *wait)
{
	const struct run *run = waits->db->run;
	const struct run_call *call = run_call(run, wait->call);

	wait->number = run_add_wait(&waits->db->run->evidence,
		&(struct run_wait){ .call = (uint32_t)wait->call,
			.kind = wait->kind,
			.op = (uint32_t)wait->by.op,
			.waited = wait->waited,
			.avoidable = wait->avoidable,
			.partner = (uint32_t)wait->partner,
			.behind = (uint32_t)wait->held_by });
	/* Copies through a staging buffer include the first of an address, which has no row. */
	if (call && wait->kind != WAIT_STAGED)
		add_use(waits, run_payload(run, call)->process, (int)wait->kind, wait->waited);
}

/*
 * Selects calls that wait (short ones show the usual duration), and other long calls with little
 * time of their own, which another thread's call may have blocked, by measurement.
 */
static int may_have_waited(const struct walk_call *call)
{
	if (call->result || call->exit == WALK_NEVER)
		return 0;
	/* The work it waited for was not recorded, so its time would count as usual. */
	if (call->stretch == STRETCH_NONE)
		return 0;
	if (scope_of(call) != SCOPE_NONE)
		return 1;
	/* A query of a kernel's attributes loads its code at the first use. */
	return (kind_has(call->kind, K_QUICK) || call->kind == KIND_ALLOC_DEVICE ||
		       (kind_has(call->kind, K_LOADS_CODE) && !kind_has(call->kind, K_WORK) &&
			       call->overhead)) &&
		call->exit - call->enter - call->overhead >= BLOCKED_MIN_NS;
}

/* Adds the call if it may have been blocked.  pooled: a pool may have taken a part of its time. */
static void add_candidate(struct waits *waits, const struct walk_call *call,
	struct order_state before, enum resize resize, int pooled)
{
	const struct copy_back *copy = id_map_get(&waits->copies, call->thread);
	const struct run *run = waits->db->run;
	int waits_by_itself = scope_of(call) != SCOPE_NONE;
	struct wait wait = {
		.call = call->id,
		.process = call->process,
		.thread = call->thread,
		.key = usual_key(call),
		.enter = call->enter,
		.exit = call->exit,
		.overhead = call->overhead,
		.transfer = call_is_copy(call->kind) ? call->op_start : WALK_NEVER,
		.transferred = call->op_end,
		.bytes = call->bytes,
		.expected = usual_expected(call),
		.kind = scope_is_explicit(call) ? WAIT_EXPLICIT
			: waits_by_itself       ? WAIT_IMPLICIT
						: WAIT_INTERNAL,
		.works_after = scope_empties_device(call),
		.may_be_behind = !waits_by_itself,
		.holds_others = scope_holds_others(call),
		.is_quick = kind_has(call->kind, K_QUICK),
		/* Loading a kernel drains the device too. */
		.waits_first = scope_waits_first(call) || (resize == RESIZE_YES && !call->overhead),
		.waits_never = resize == RESIZE_NO && !call->overhead,
	};
	int64_t duration = wait.exit - wait.enter - wait.overhead, behind = 0, after;
	int is_exact = 0;

	if (before.op && before.end > wait.enter) {
		wait.before = operation(before.call, before.op, before.end);
		behind = before.end - wait.enter;
		/* The end of an operation may only be a limit, by which nothing is measured. */
		is_exact = !pooled && !run_where(run, run_work(run, before.op))->end_is_limit;
	}
	if (waits_by_itself && scope_includes_own(call) && call->op && call->op_end != WALK_NEVER)
		wait.own = operation(call->id, call->op, call->op_end);
	after = wait.exit - wait.before.end;
	/* An explicit wait shows how late they return, up to what the clocks differ in. */
	if (wait.kind == WAIT_EXPLICIT && is_exact && after >= -CLOCK_ERROR_MAX_NS)
		samples_add(&waits->samples, USUAL_LATENCY | wait.process, after);
	/*
	 * Work that was pending only for a small part of a copy does not explain the rest.  Other
	 * calls have waited for it, and the thread may have slept longer.
	 */
	if (!pooled && waits_by_itself && behind < duration / UNBLOCKED_PART &&
		(call_is_copy(call->kind) || behind < WAIT_MIN_NS))
		samples_add(&waits->samples, wait.key | (wait.own.op ? USUAL_OWN : 0),
			duration - behind);
	/*
	 * A call that waits first does only its own work after the end of the operation that it
	 * waited for.
	 */
	if (waits_by_itself && wait.waits_first && is_exact && after >= 0)
		samples_add(&waits->samples, wait.key | USUAL_AFTERWARDS, after);
	/* Its time is too short to prove a wait, but an explicit wait counts anyway. */
	if (wait.kind == WAIT_EXPLICIT && wait.before.op && duration < WAIT_MIN_NS)
		add_use(waits, wait.process, WAIT_EXPLICIT, at_most(behind, duration));
	if (waits_by_itself && ((!wait.before.op && !wait.own.op) || duration < WAIT_MIN_NS))
		return;
	/* Who waits for the own copy waits mainly for the work that the copy comes after. */
	if (copy && wait.kind == WAIT_EXPLICIT && wait.before.op == copy->own.op) {
		wait.partner = copy->own.call;
		wait.own = copy->own;
		wait.before = copy->before;
		if (wait.before.end <= wait.enter)
			wait.before.op = 0;
	}
	*large_push(waits->wait, waits->count) = wait;
}

void waits_process_call(struct waits *waits, const struct order *order,
	const struct walk_call *call)
{
	struct pending *pending = &waits->pending;
	enum scope scope = call->freed_async ? SCOPE_NONE : scope_within(call);
	struct order_state before = ORDER_NOTHING, end;
	struct copy_back *copy;
	enum resize resize = resizes_process_call(&waits->resizes, call);
	int may_have = may_have_waited(call), pooled = 0;

	if (may_have)
		before = pending_find(pending, order, call, scope);
	if (waits->has_pools) {
		end = before;
		if (!call_is_wait(call->kind))
			end = pending_find(pending, order, call,
				call->stream ? SCOPE_STREAM : SCOPE_PROCESS);
		pooled = pool_trims_process_call(&waits->trims, waits->db->run, waits->evidence,
			call, end.end);
	}
	/*
	 * Waits for unknown work, or for the call's own, show nothing.  Freeing memory of a pool
	 * does not wait, and does not show the usual duration.
	 */
	if (may_have && before.op != ORDER_OP_UNKNOWN && !call->unknown &&
		(scope != SCOPE_NONE || scope_of(call) == SCOPE_NONE))
		add_candidate(waits, call, before, resize, pooled);
	/* It waited for all work in its scope: if some is unknown, that has ended now. */
	if (may_have && before.op == ORDER_OP_UNKNOWN && scope >= SCOPE_CONTEXT &&
		(scope_is_explicit(call) || scope_empties_device(call)))
		pending_clear(pending, call, scope);
	if (call_is_async_copy(call->kind) && call->direction == COPY_D2H && !call->result &&
		call->op && call->op_end != WALK_NEVER) {
		before = order_of_stream(order, call, 1);
		copy = id_map_need(&waits->copies, call->thread, sizeof(*copy));
		copy->own = operation(call->id, call->op, call->op_end);
		copy->before = operation(before.call, before.op == ORDER_OP_UNKNOWN ? 0 : before.op,
			before.end);
	}
	pending_add(pending, call);
}

struct wait_operation wait_operation_of(const struct run *run, int64_t id)
{
	const struct run_call *call = run_call(run, id);
	const struct run_stream *stream = run_stream(run, call ? call->stream : 0);
	struct wait_operation all = { .call = id,
		.start = INT64_MAX,
		.end = INT64_MIN,
		.stream = call ? call->stream : 0,
		.context = stream->context,
		.kind = (enum stream_kind)stream->kind,
		.device = run_context(run, stream->context)->device };

	for (uint32_t op = 0; call && (op = run_next_work(run, call, op));) {
		const struct run_work *work = run_work(run, op);
		int64_t end = run_end(run, work, op);

		if (end != RUN_NEVER && end > all.end) {
			all.op = op;
			all.end = end;
		}
		all.start = at_most(all.start, work->start);
	}
	return all;
}

void waits_join(struct waits *waits, struct waits *later)
{
	for (size_t i = 0; i < later->count; i++)
		*large_push(waits->wait, waits->count) = later->wait[i];
	large_free(later->wait);
	later->wait = NULL;
	later->count = 0;
	samples_join(&waits->samples, &later->samples);
	pool_trims_join(&waits->trims, &later->trims, waits->evidence->trim_count);
	for (struct id_map_slot *at = NULL; (at = id_map_next(&later->uses, at));) {
		const struct wait_use *use = at->object;
		struct wait_use *sum = id_map_need(&waits->uses, at->id, sizeof(*sum));

		sum->count += use->count;
		sum->waited += use->waited;
	}
}

/* --- by the device --- */

/* Is a wait, ns, noise: shorter than least, or within the error of the clocks? */
static int is_short(const struct wait_timing *timing, int64_t waited, int64_t least)
{
	return waited < least || waited < CLOCK_ERRORS * timing->clock_error;
}

/* Is the excess noise, or within the variation among calls of the type? */
static int is_usual(const struct wait_timing *timing, const struct usual *usual, int64_t more)
{
	return is_short(timing, more, WAIT_MIN_NS) || more < usual->spread;
}

/*
 * Returns what blocked the call, NULL if nothing did: an operation that ended just before the call
 * returned.  For a copy that was queued after earlier work for much of its time, it is that work.
 */
static const struct wait_operation *blocked_by(const struct wait *wait,
	const struct wait_operation *own, int64_t earliest, int64_t latest)
{
	const struct wait_operation *before = &wait->before;

	if (own->op && own->end >= earliest && own->end <= latest) {
		int64_t behind = before->op ? before->end - wait->enter : 0;

		return behind >= (wait->exit - wait->enter) / UNBLOCKED_PART ? before : own;
	}
	return before->op && before->end >= earliest && before->end <= latest ? before : NULL;
}

/*
 * Returns what blocked the call, given its usual duration, and its excess; NULL if nothing did.
 */
static const struct wait_operation *judge_by_duration(const struct wait *wait,
	const struct wait_operation *own, const struct wait_timing *timing,
	const struct usual *usual, int64_t *excess)
{
	int64_t duration = wait->exit - wait->enter, slack;
	int64_t behind = wait->before.op ? wait->before.end - wait->enter - wait->overhead : 0;
	const struct wait_operation *by;

	*excess = duration - wait->overhead - usual->ns;
	/* It did its usual work after the wait, faster than usual. */
	if (wait->works_after && behind >= usual->ns && *excess < BLOCKED_MIN_NS)
		*excess = behind;
	/* Work that it did while the device was idle was no wait, however long. */
	if (wait->works_after && behind > 0 && *excess > behind + timing->wake_up)
		*excess = behind + timing->wake_up;
	if (is_usual(timing, usual, *excess))
		return NULL;
	/* A sleeping thread may wake up late; it did wait for this operation. */
	if (wait->kind == WAIT_EXPLICIT && timing->blocking)
		return blocked_by(wait, own, wait->enter, wait->exit + timing->error);
	/*
	 * After a wait its own work varies twice as much: on an H200 pageable copies of 64 MiB,
	 * 6.3 ms alone, took 6.5 to 8.2 once their stream was free.
	 */
	slack = usual->ns + 2 * usual->spread + timing->wake_up;
	slack = at_least(slack, duration / WORK_AFTER_PART);
	by = blocked_by(wait, own, wait->exit - slack, wait->exit + timing->error);
	/* It took long, but earlier work ended soon after it began. */
	if (by && !own->op && wait->kind != WAIT_EXPLICIT &&
		is_usual(timing, usual, behind + timing->error))
		return NULL;
	return by;
}

/*
 * A copy whose transfer lasted until it returned had waited for the operation before that, however
 * long the transfer took: other programs use the bus too.  Most of the time after the wait must be
 * that transfer; otherwise the thread was only late.
 */
static int is_blocked_by_transfer(const struct wait *wait, const struct wait_timing *timing,
	const struct usual *usual, int64_t *excess)
{
	const struct wait_operation *before = &wait->before;
	int64_t duration = wait->exit - wait->enter - wait->overhead;
	int64_t until = at_most(wait->transferred, wait->exit);
	int64_t took = until - wait->transfer, alone = usual->ns;

	if (wait->kind == WAIT_INTERNAL || !before->op || wait->transfer == WALK_NEVER ||
		wait->transfer < before->end - timing->error ||
		took < (wait->exit - before->end) / TRANSFER_PART)
		return 0;
	/* Alone it would have taken at most what its last part did, which is not staged ahead. */
	if (wait->bytes > STAGED_AHEAD)
		alone = (int64_t)((double)took * (double)wait->bytes /
			(double)(wait->bytes - STAGED_AHEAD));
	alone = at_most(usual->ns, alone);
	*excess = before->end - wait->enter - wait->overhead;
	/* The time in which the thread could stage data was no wait. */
	*excess = at_most(*excess, duration - alone);
	return *excess >= duration / UNBLOCKED_PART && *excess >= usual->spread &&
		!is_short(timing, *excess, WAIT_MIN_NS);
}

/* Returns whether the device blocked the call; then sets wait->by and wait->waited. */
static int judge(struct wait *wait, const struct wait_timing *timing, struct samples *samples)
{
	static const struct wait_operation none;
	int64_t key = wait->key, expected = wait->expected, *waited = &wait->waited;
	struct usual alone = usual_of(samples, key, expected);
	struct usual with_own = usual_of(samples, key | USUAL_OWN, 0);
	struct usual afterwards = usual_of(samples, key | USUAL_AFTERWARDS, expected);
	int64_t behind;
	const struct wait_operation *by =
		judge_by_duration(wait, &wait->own, timing, &alone, waited);

	/* The copy's own transfer is known from this run: the excess has other causes. */
	if (!by && wait->before.op && with_own.ns)
		by = judge_by_duration(wait, &none, timing, &with_own, waited);
	/*
	 * The call's work after its wait may be shorter than usual: on an H200 cudaFree of 128 KiB
	 * took 30 us and more, of 4 KiB next to other small memory 5 to 11.
	 */
	afterwards = usual_of(samples, key, at_most(afterwards.ns, expected));
	if (!by && is_blocked_by_transfer(wait, timing, &alone, waited))
		by = &wait->before;
	/*
	 * A call that waits for the device before it begins its own work waited for the pending
	 * work if its usual work fits after the end of that.  However much longer calls take, they
	 * seldom take much less.
	 */
	if (!by && wait->may_be_behind && wait->waits_first && wait->before.op &&
		wait->exit - wait->before.end >= afterwards.ns -
				at_most(afterwards.spread, afterwards.ns / USUAL_SPREAD_PART) -
				timing->error) {
		*waited = wait->before.end - wait->enter - wait->overhead;
		by = is_short(timing, *waited, WAIT_MIN_NS) ? NULL : &wait->before;
	}
	if (!by)
		return 0;
	wait->by = *by;
	behind = by->end - wait->enter + timing->usually_late;
	if (wait->works_after && *waited > behind)
		*waited = behind;
	return 1;
}

/* --- behind another thread's call --- */

/*
 * Calls that the device blocked.  They are kept to find calls of other threads that waited because
 * a blocked call holds a lock of the driver.  Measured on an H200: while a thread is in cudaFree or
 * in a pageable copy to the host, other threads' launches are blocked; while it is in an explicit
 * wait they are not.
 */
struct held_calls {
	struct timed *held; /* returns, and numbers in waits.wait; in order of both */
	size_t count;
	int64_t longest_after; /* ns that one of them took after the end of its wait */
};

static int may_hold(const struct wait *held, const struct wait *call)
{
	return held->process == call->process && held->thread != call->thread;
}

/*
 * Returns whether another thread's call blocked this one; then sets what is known of that.  It is a
 * blocked call that this one overlapped, with other such calls, for nearly all of its time: the
 * lock is not granted in turn.  That call gave it back at most latency ns before this one returned
 * (or error ns after): when it returned, or before its own work after the wait.
 */
static int judge_behind(const struct waits *waits, struct wait *wait,
	const struct wait_timing *timing, const struct held_calls *calls)
{
	int64_t duration = wait->exit - wait->enter;
	int64_t excess = duration - wait->overhead - wait->expected;
	int64_t latency = timing->wake_up + wait->expected, from, until;
	const struct wait *held = NULL;

	/* Handing over a lock takes 50 us or more; calls that are quick may take longer. */
	if (wait->is_quick && latency < excess / LOCK_PART)
		latency = excess / LOCK_PART;
	if (is_short(timing, excess, BLOCKED_MIN_NS))
		return 0;
	from = wait->exit - latency;
	until = wait->exit + timing->error;
	for (size_t i = sorted_from(calls->held, calls->count, sizeof(*calls->held),
		     offsetof(struct timed, at), from);
		!held && i < calls->count && calls->held[i].at <= until + calls->longest_after;
		i++) {
		const struct wait *one = &waits->wait[calls->held[i].of];
		int64_t overlap = 0, end = wait->exit;

		if (!may_hold(one, wait) ||
			(one->exit > until && (one->by.end < from || one->by.end > until)))
			continue;
		for (size_t k = i + 1; k-- > 0 && calls->held[k].at > wait->enter;) {
			const struct wait *other = &waits->wait[calls->held[k].of];
			int64_t start = at_least(other->enter, wait->enter);

			if (!may_hold(other, wait) || at_most(other->exit, end) <= start)
				continue;
			overlap += at_most(other->exit, end) - start;
			end = start;
		}
		if (overlap >= duration - duration / LOCK_PART)
			held = one;
	}
	if (!held)
		return 0;
	wait->partner = 0;
	wait->by = held->by;
	wait->waited = excess;
	/* A call that drains the device itself waited for the same work as the other call. */
	if (wait->kind != WAIT_INTERNAL)
		return 1;
	wait->kind = WAIT_BEHIND;
	wait->held_by = held->call;
	/* It had nothing to wait for. */
	wait->avoidable = excess;
	return 1;
}

/* --- all of them --- */

/*
 * Adds a row for each of the waits that were blocked, in this order: by the device, and behind
 * another thread's blocked call.
 */
static void judge_all(struct waits *waits)
{
	struct held_calls calls = { 0 };

	for (size_t i = 0; i < waits->count; i++) {
		struct wait *wait = &waits->wait[i];
		const struct wait_timing *timing =
			wait_timing_settle(&waits->timings, &waits->samples, wait->process);

		if (wait->may_be_behind)
			continue;
		if (!judge(wait, timing, &waits->samples)) {
			/*
			 * The driver runs such calls one at a time, in any order: on an H200 one
			 * thread freed twelve times in 35 ms while two others waited to free.
			 */
			wait->may_be_behind = wait->works_after && wait->kind != WAIT_INTERNAL;
			continue;
		}
		if (wait->holds_others) {
			*array_push(calls.held, calls.count) = (struct timed){ wait->exit, i };
			calls.longest_after =
				at_least(calls.longest_after, wait->exit - wait->by.end);
		}
		wait_add_row(waits, wait);
	}
	calls.held = radix_sort(calls.held, calls.count, sizeof(*calls.held));
	for (size_t i = 0; i < waits->count; i++) {
		struct wait *wait = &waits->wait[i];
		const struct wait_timing *timing = id_map_get(&waits->timings, wait->process);

		if (wait->may_be_behind &&
			(judge_behind(waits, wait, timing, &calls) ||
				(!wait->waits_never && judge(wait, timing, &waits->samples))))
			wait_add_row(waits, wait);
	}
	free(calls.held);
}

/* A kind in table wait_use besides enum wait_kind: loops of queries. */
#define USE_POLLING (WAIT_STAGED + 1)

/*
 * Finds the waits, then fills table wait_use: the total time that the host waited for the device,
 * by process and kind.  It includes waits without a row in table wait because nobody could
 * change them or because they are too short to be certain, and loops of queries.
 */
int waits_finish(struct waits *waits)
{
	static const char *const names[] = {
#define X(kind, name) [WAIT_##kind] = name,
		WAIT_KIND_LIST(X)
#undef X
			[USE_POLLING] = "polling",
	};
	struct run *run = waits->db->run;
	struct map seen = { 0 };
	int rc;

	/* A pool that gives memory back after a wait, or maps it, is no part of the wait. */
	pool_trims_finish(&waits->trims, run);
	for (size_t i = 0; i < waits->count; i++) {
		struct wait *wait = &waits->wait[i];

		wait->exit -= (int64_t)map_get(&run->evidence.trimmed, (uint64_t)wait->call, 0);
	}
	judge_all(waits);
	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		int64_t staged = call ? waits_add_staged(waits, id, &seen) : 0;
		int64_t since = call ? polls_since(run, id) : INT64_MIN;

		if (staged > 0)
			add_use(waits, run_payload(run, call)->process, WAIT_STAGED, staged);
		else if (since != INT64_MIN)
			add_use(waits, run_payload(run, call)->process, USE_POLLING,
				run_exit(run, call, id) - since);
	}
	map_release(&seen);
	rc = waits_find_avoidable(waits);
	waits_find_queue(waits);
	for (struct id_map_slot *at = NULL; !rc && (at = id_map_next(&waits->uses, at));) {
		const struct wait_use *use = at->object;

		rc = db_add(waits->db,
			ROW(wait_use, at->id >> 8, cell_text(names[at->id & 255]), use->count,
				use->waited));
	}
	return rc;
}
