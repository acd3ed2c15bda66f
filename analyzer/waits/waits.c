/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls may have been blocked, and for how long processes waited in all. */
#include "waits.h"

#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "id_map.h"
#include "large.h"
#include "memory.h"
#include "polls.h"
#include "rows.h"
#include "scope.h"
#include "stretches.h"
#include "wait.h"

/* The operation that ended last in a context, among submissions that have returned. */
struct pending_context {
	int64_t process;
	int device;
	struct order_state all, blocking; /* blocking: legacy and blocking streams */
	int64_t stream;                   /* stream of `all` */
	struct order_state others;        /* in other streams than that */
};

/* A submission that may not have returned yet. */
struct in_flight {
	int64_t exit;
	struct pending_context *context;
	int64_t stream;
	int blocking;
	struct order_state state;
};

/*
 * A thread's last Async copy to the host: the work before it is the actual reason to wait for it.
 */
struct copy_back {
	struct wait_operation before, own;
};

/* A row of table wait_use. */
struct wait_use {
	int64_t process;
	int kind;
	int64_t count, waited;
};

struct waits {
	struct db *db;
	struct id_map contexts;   /* struct pending_context */
	struct in_flight *flight; /* submissions that may not have returned yet */
	size_t flight_count;
	int64_t first_exit; /* the earliest exit of them */
	struct samples samples;
	struct id_map timings; /* struct wait_timing, by process */
	struct id_map copies;  /* struct copy_back, by thread */
	struct resizes resizes;
	struct pool_trims trims;
	int has_pools; /* memory is allocated in stream order */
	struct wait_list list;
	struct id_map uses; /* struct wait_use, by process and kind */
};

struct waits *waits_new(struct db *db)
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
	waits->first_exit = WALK_NEVER;
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
	id_map_release(&waits->contexts, free);
	free(waits->flight);
	resizes_release(&waits->resizes);
	pool_trims_release(&waits->trims);
	samples_release(&waits->samples);
	id_map_release(&waits->timings, free);
	id_map_release(&waits->copies, free);
	id_map_release(&waits->uses, free);
	large_free(waits->list.wait);
	free(waits);
}

/*
 * --- pending work of each context, updated along the walk ---
 *
 * Submissions count once they have returned: a call entered while another thread was still
 * submitting need not wait for that.
 */

static int64_t context_id(const struct walk_call *call)
{
	return call->stream_context ? call->stream_context : call->context;
}

static void pending_add(struct waits *waits, const struct walk_call *call)
{
	struct pending_context *context;

	if (!call->unknown && (!call->op || call->op_end == WALK_NEVER))
		return;
	context = id_map_need(&waits->contexts, context_id(call), sizeof(*context));
	context->process = call->process;
	context->device = call->device;
	*array_push(waits->flight, waits->flight_count) = (struct in_flight){
		.exit = call->exit,
		.context = context,
		.stream = call->stream,
		.blocking = stream_is_blocking(call->stream_kind) ||
			call->stream_kind == STREAM_KIND_LEGACY,
		.state = { .call = call->id,
			.op = call->unknown ? ORDER_OP_UNKNOWN : call->op,
			.end = call->op_end },
	};
	waits->first_exit = at_most(waits->first_exit, call->exit);
}

/* Adds submissions that have returned by now to their contexts. */
static void land(struct waits *waits, int64_t now)
{
	size_t kept = 0;

	if (waits->first_exit > now)
		return;
	waits->first_exit = WALK_NEVER;
	for (size_t i = 0; i < waits->flight_count; i++) {
		const struct in_flight *flight = &waits->flight[i];
		struct pending_context *context = flight->context;

		if (flight->exit > now) {
			waits->first_exit = at_most(waits->first_exit, flight->exit);
			waits->flight[kept++] = *flight;
			continue;
		}
		if (flight->blocking)
			context->blocking = order_later(context->blocking, flight->state);
		if (flight->stream != context->stream && context->all.op &&
			flight->state.end <= context->all.end) {
			context->others = order_later(context->others, flight->state);
			continue;
		}
		if (flight->stream != context->stream)
			context->others = context->all;
		context->stream = flight->stream;
		context->all = order_later(context->all, flight->state);
	}
	waits->flight_count = kept;
}

static int is_on(const struct pending_context *context, int64_t process, int device)
{
	return context && context->process == process && (device < 0 || context->device == device);
}

/* Of all devices if device is -1; without the work of stream except, 0: none. */
static struct order_state of_device(const struct waits *waits, int64_t process, int device,
	int64_t except)
{
	struct order_state state = ORDER_NOTHING;

	for (size_t i = 0; i < waits->contexts.size; i++) {
		const struct pending_context *context = waits->contexts.slot[i].object;

		if (is_on(context, process, device))
			state = order_later(state,
				except && context->stream == except ? context->others
								    : context->all);
	}
	return state;
}

/*
 * Returns the operation in the call's scope that ended last, of those submitted before the call was
 * entered; its end shows whether it was pending.  Its op is ORDER_OP_UNKNOWN if one of those is
 * unknown.  Sets *scope to SCOPE_NONE for memory of a pool.
 */
static struct order_state pending_find(struct waits *waits, const struct order *order,
	const struct walk_call *call, enum scope *scope)
{
	const struct pending_context *context = id_map_get(&waits->contexts, context_id(call));
	struct order_state all, others;

	land(waits, call->enter);
	if (call->freed_async)
		*scope = SCOPE_NONE;
	switch (*scope) {
	case SCOPE_NONE:
		break;
	case SCOPE_EVENT:
		return order_of_event(order, call);
	case SCOPE_OWN:
		return order_of_stream(order, call, 0);
	case SCOPE_STREAM:
		return order_of_stream(order, call, 1);
	case SCOPE_LEGACY:
		return context ? context->blocking : ORDER_NOTHING;
	case SCOPE_CONTEXT:
		return context ? context->all : ORDER_NOTHING;
	case SCOPE_DEVICE:
		all = of_device(waits, call->process, scope_device(call), 0);
		if (kind_family(call->kind) != FAMILY_launch || all.op == ORDER_OP_UNKNOWN)
			return all;
		others = of_device(waits, call->process, call->device, call->stream);
		return others.op &&
				all.end - others.end <= (all.end - call->enter) / OWN_STREAM_PART
			? others
			: all;
	case SCOPE_PROCESS:
		return of_device(waits, call->process, -1, 0);
	}
	return ORDER_NOTHING;
}

/* --- candidates --- */

static struct wait_operation operation(int64_t call, int64_t op, int64_t end)
{
	return (struct wait_operation){ .call = call, .op = op, .end = end };
}

static void add_use(struct waits *waits, int64_t process, int kind, int64_t waited)
{
	struct wait_use *use = id_map_need(&waits->uses, process << 8 | kind, sizeof(*use));

	use->process = process;
	use->kind = kind;
	use->count++;
	use->waited += waited;
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

static struct wait wait_of(const struct walk_call *call, struct order_state before,
	enum resize resize)
{
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
		.kind = WAIT_IMPLICIT,
		.works_after = scope_empties_device(call),
		.waits = waits_by_itself,
		.may_be_behind = !waits_by_itself,
		.holds_others = scope_holds_others(call),
		.is_quick = kind_has(call->kind, K_QUICK),
		/* Loading a kernel drains the device too. */
		.waits_first = scope_waits_first(call) || (resize == RESIZE_YES && !call->overhead),
		.waits_never = resize == RESIZE_NO && !call->overhead,
	};

	if (scope_is_explicit(call) || !waits_by_itself)
		wait.kind = scope_is_explicit(call) ? WAIT_EXPLICIT : WAIT_INTERNAL;
	if (before.op && before.end > wait.enter)
		wait.before = operation(before.call, before.op, before.end);
	if (waits_by_itself && scope_includes_own(call) && call->op && call->op_end != WALK_NEVER)
		wait.own = operation(call->id, call->op, call->op_end);
	return wait;
}

/* Adds the call if it may have been blocked.  pooled: a pool may have taken a part of its time. */
static void add_candidate(struct waits *waits, const struct walk_call *call, struct wait wait,
	int pooled)
{
	const struct copy_back *copy = id_map_get(&waits->copies, wait.thread);
	const struct run *run = waits->db->run;
	int64_t duration = wait.exit - wait.enter - wait.overhead;
	int64_t behind = wait.before.op ? wait.before.end - wait.enter : 0;
	int64_t after = wait.exit - wait.before.end;
	/* The end of an operation may only be a limit, by which nothing is measured. */
	int is_exact = !pooled && wait.before.op &&
		!run_where(run, run_work(run, wait.before.op))->end_is_limit;

	/* An explicit wait shows how late they return, up to what the clocks differ in. */
	if (wait.kind == WAIT_EXPLICIT && is_exact && after >= -CLOCK_ERROR_MAX_NS)
		samples_add(&waits->samples, USUAL_LATENCY | wait.process, after);
	/*
	 * Work that was pending only for a small part of a copy does not explain the rest.  Other
	 * calls have waited for it, and the thread may have slept longer.
	 */
	if (!pooled && wait.waits && behind < duration / UNBLOCKED_PART &&
		(call_is_copy(call->kind) || behind < WAIT_MIN_NS))
		samples_add(&waits->samples, wait.key | (wait.own.op ? USUAL_OWN : 0),
			duration - behind);
	/*
	 * A call that waits first does only its own work after the end of the operation that it
	 * waited for.
	 */
	if (wait.waits && wait.waits_first && is_exact && after >= 0)
		samples_add(&waits->samples, wait.key | USUAL_AFTERWARDS, after);
	/* Its time is too short to prove a wait, but an explicit wait counts anyway. */
	if (wait.kind == WAIT_EXPLICIT && wait.before.op && duration < WAIT_MIN_NS)
		add_use(waits, wait.process, WAIT_EXPLICIT, at_most(behind, duration));
	if (wait.waits && ((!wait.before.op && !wait.own.op) || duration < WAIT_MIN_NS))
		return;
	/* Who waits for the own copy waits mainly for the work that the copy comes after. */
	if (copy && wait.kind == WAIT_EXPLICIT && wait.before.op == copy->own.op) {
		wait.partner = copy->own.call;
		wait.own = copy->own;
		wait.before = copy->before;
		if (wait.before.end <= wait.enter)
			wait.before.op = 0;
	}
	*large_push(waits->list.wait, waits->list.count) = wait;
}

int waits_process_call(struct waits *waits, const struct order *order, const struct walk_call *call)
{
	enum scope scope = scope_within(call);
	const struct id_map *contexts = &waits->contexts;
	struct order_state before = ORDER_NOTHING;
	struct copy_back *copy;
	enum resize resize = resizes_process_call(&waits->resizes, call);
	int may_have = may_have_waited(call), pooled = 0;

	if (may_have)
		before = pending_find(waits, order, call, &scope);
	if (waits->has_pools) {
		struct order_state end = before;

		land(waits, call->enter);
		if (!call_is_wait(call->kind))
			end = call->stream ? order_of_stream(order, call, 1)
					   : of_device(waits, call->process, -1, 0);
		pooled = pool_trims_process_call(&waits->trims, waits->db->run, call, end.end);
	}
	if (may_have) {
		/*
		 * Waits for unknown work, or for the call's own, show nothing.  Freeing memory of a
		 * pool does not wait, and does not show the usual duration.
		 */
		if (before.op != ORDER_OP_UNKNOWN && !call->unknown &&
			(scope != SCOPE_NONE || scope_of(call) == SCOPE_NONE))
			add_candidate(waits, call, wait_of(call, before, resize), pooled);
		/* It waited for all work in its scope: if some is unknown, that has ended now. */
		for (size_t i = 0; i < contexts->size && before.op == ORDER_OP_UNKNOWN &&
			(scope_is_explicit(call) || scope_empties_device(call)) &&
			scope >= SCOPE_CONTEXT;
			i++) {
			struct pending_context *context = contexts->slot[i].object;
			int device = scope == SCOPE_DEVICE ? scope_device(call) : -1;

			if (is_on(context, call->process, device) &&
				(scope != SCOPE_CONTEXT ||
					contexts->slot[i].id == context_id(call)))
				context->all = context->blocking = context->others = ORDER_NOTHING;
		}
	}
	if (call_is_async_copy(call->kind) && call->direction == COPY_D2H && !call->result &&
		call->op && call->op_end != WALK_NEVER) {
		before = order_of_stream(order, call, 1);
		copy = id_map_need(&waits->copies, call->thread, sizeof(*copy));
		copy->own = operation(call->id, call->op, call->op_end);
		copy->before = operation(before.call, before.op == ORDER_OP_UNKNOWN ? 0 : before.op,
			before.end);
	}
	pending_add(waits, call);
	return 0;
}

/* --- table wait_use --- */

/* A kind besides enum wait_kind: loops of queries. */
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
	struct db *db = waits->db;
	struct run *run = db->run;
	int rc;

	/* A pool that gives memory back after a wait, or maps it, is no part of the wait. */
	pool_trims_finish(&waits->trims, run);
	for (size_t i = 0; i < waits->list.count; i++)
		waits->list.wait[i].exit -= (int64_t)map_get(&run->evidence.trimmed,
			(uint64_t)waits->list.wait[i].call, 0);
	waits_judge(&waits->list, &waits->samples, &waits->timings, &run->evidence);
	waits_add_staged(run, &waits->list);
	rc = waits_find_avoidable(db, &waits->list);
	waits_find_queue(run);
	for (size_t i = 1; i < run->evidence.wait_count && !rc; i++) {
		const struct run_wait *wait = &run->evidence.wait[i];
		const struct run_call *call = run_call(run, wait->call);

		/* Copies through a staging buffer include the first of an address. */
		if (call && wait->kind != WAIT_STAGED)
			add_use(waits, run_payload(run, call)->process, (int)wait->kind,
				wait->waited);
	}
	for (uint32_t id = 1; id < run_call_end(run) && !rc; id++) {
		const struct run_call *call = run_call(run, id);
		int64_t staged = call ? waits_staged_time(run, id) : 0;
		int64_t since = call ? polls_since(run, id) : INT64_MIN;

		if (staged > 0)
			add_use(waits, run_payload(run, call)->process, WAIT_STAGED, staged);
		else if (since != INT64_MIN)
			add_use(waits, run_payload(run, call)->process, USE_POLLING,
				run_exit(run, call, id) - since);
	}
	for (size_t i = 0; i < waits->uses.size && !rc; i++) {
		const struct wait_use *use = waits->uses.slot[i].object;

		if (use)
			rc = db_add(db,
				ROW(wait_use, use->process, cell_text(names[use->kind]), use->count,
					use->waited));
	}
	return rc;
}
