/* SPDX-License-Identifier: Apache-2.0 */
#include "waits.h"

#include <stdlib.h>

#include "constants.h"
#include "idmap.h"
#include "resizes.h"
#include "run_columns.h"
#include "stretches.h"
#include "wait_use.h"
#include "waits_behind.h"
#include "waits_judge.h"
#include "waits_pending.h"
#include "waits_usual.h"

/*
 * A thread's last Async copy to the host: the work before it is the actual reason to wait for it.
 */
struct copy_back {
	int64_t call;
	struct order_state before, own;
};

struct waits {
	struct db *db;
	struct pending *pending;
	struct usual usual;
	struct idmap processes; /* struct wait_timing */
	struct idmap copies;    /* struct copy_back, by thread */
	struct held_calls held;
	struct resizes *resizes;
	sqlite3_stmt *timing;
	struct wait_list list;
	struct wait_uses uses;
};

struct waits *waits_new(struct db *db)
{
	struct waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		return NULL;
	waits->db = db;
	waits->pending = pending_new();
	waits->resizes = resizes_new(db);
	/* CU_CTX_SCHED_MASK and CU_CTX_SCHED_BLOCKING_SYNC, of cuda.h. */
	waits->timing = db_prepare(db,
		"SELECT clock_error, EXISTS (SELECT 1 FROM context "
		"WHERE process = p.id AND flags & 7 = 4) FROM process p WHERE id = ?");
	if (waits->pending && waits->resizes && waits->timing)
		return waits;
	waits_free(waits);
	return NULL;
}

static void free_timing(void *object)
{
	struct wait_timing *timing = object;

	sample_release(&timing->latency);
	free(timing);
}

void waits_free(struct waits *waits)
{
	if (!waits)
		return;
	pending_free(waits->pending);
	resizes_free(waits->resizes);
	sqlite3_finalize(waits->timing);
	usual_release(&waits->usual);
	idmap_release(&waits->processes, free_timing);
	idmap_release(&waits->copies, free);
	held_calls_release(&waits->held);
	free(waits->list.wait);
	wait_use_release(&waits->uses);
	free(waits);
}

static struct wait_timing *timing_of(struct waits *waits, int64_t process)
{
	struct wait_timing *timing = idmap_need(&waits->processes, process, sizeof(*timing));

	if (!timing || timing->clock_error)
		return timing;
	timing->clock_error = 1;
	if (db_bind(waits->timing, "i", process))
		return NULL;
	if (db_step(waits->timing) > 0) {
		if (sqlite3_column_int64(waits->timing, 0) > 0)
			timing->clock_error = sqlite3_column_int64(waits->timing, 0);
		timing->blocking = sqlite3_column_int(waits->timing, 1);
	}
	sqlite3_reset(waits->timing);
	return timing;
}

/* The end of an operation may only be a limit, by which nothing is measured. */
static int is_exact(const struct waits *waits, struct order_state state)
{
	const struct run *run = waits->db->run;

	return !run_where(run, run_work(run, state.op))->end_is_limit;
}

static int add_latency(struct waits *waits, const struct walk_call *call, struct order_state state)
{
	struct wait_timing *timing = timing_of(waits, call->process);

	return timing ? wait_timing_add(timing, call->exit - state.end) : -1;
}

static enum wait_kind kind_of(const struct walk_call *call)
{
	if (scope_is_explicit(call))
		return WAIT_EXPLICIT;
	return scope_of(call) == SCOPE_NONE ? WAIT_INTERNAL : WAIT_IMPLICIT;
}

/* Handing over a lock takes 50 us or more; calls that are quick by themselves may take longer. */
static int is_quick(const struct walk_call *call)
{
	return kind_has(call->kind, K_QUICK);
}

/* A query of a kernel's attributes loads its code at the first use. */
static int loads_code(const struct walk_call *call)
{
	return kind_has(call->kind, K_LOADS_CODE) && !kind_has(call->kind, K_WORK) &&
		call->overhead;
}

static struct order_state operation_of(const struct walk_call *call)
{
	return (struct order_state){ .call = call->id, .op = call->op, .end = call->op_end };
}

static int record_copy_back(struct waits *waits, const struct order *order,
	const struct walk_call *call)
{
	struct copy_back *copy;

	if (!call_is_async_copy(call->kind) || call->direction != COPY_D2H || call->result ||
		!call->op || call->op_end == WALK_NEVER)
		return 0;
	copy = idmap_need(&waits->copies, call->thread, sizeof(*copy));
	if (!copy)
		return -1;
	*copy = (struct copy_back){ .call = call->id,
		.own = operation_of(call),
		.before = order_of_stream(order, call, 1) };
	if (copy->before.op == ORDER_OP_UNKNOWN)
		copy->before = ORDER_NOTHING;
	return 0;
}

/* When a thread waits for its own copy, it waits mainly for the work that the copy comes after. */
static void use_work_before_copy(struct waits *waits, struct wait *wait)
{
	const struct copy_back *copy = idmap_get(&waits->copies, wait->thread);

	if (!copy || wait->kind != WAIT_EXPLICIT || wait->before.op != copy->own.op)
		return;
	wait->partner = copy->call;
	wait->own = copy->own;
	wait->before = ORDER_NOTHING;
	if (copy->before.op && copy->before.end > wait->enter)
		wait->before = copy->before;
}

/*
 * Work that was pending only for a small part of a copy does not explain the rest.  Other calls
 * have waited for it, and the thread may have slept longer.
 */
static int is_unblocked(const struct walk_call *call, int64_t behind, int64_t duration)
{
	return behind < duration / UNBLOCKED_PART &&
		(call_is_copy(call->kind) || behind < WAIT_MIN_NS);
}

/*
 * A call that waits first does only its own work after the end of the operation that it waited for.
 */
static int add_afterwards(struct waits *waits, const struct wait *wait)
{
	if (!wait->waits || !wait->waits_first || !wait->before.op ||
		wait->before.end > wait->exit || !is_exact(waits, wait->before))
		return 0;
	return usual_add(&waits->usual, usual_key_afterwards(wait->key),
		wait->exit - wait->before.end);
}

/* A pool that gives memory back after a wait, or maps it, is no part of the wait. */
static struct walk_call without_trim(const struct waits *waits, const struct walk_call *call)
{
	struct walk_call kept = *call;

	kept.exit -= (int64_t)map_get(&waits->db->run->evidence.trimmed, (uint64_t)call->id, 0);
	return kept;
}

static int judge_later(struct waits *waits, const struct walk_call *call, struct order_state before,
	enum resize resize)
{
	int64_t duration = call->exit - call->enter - call->overhead;
	int pending = before.op && before.end > call->enter;
	int64_t behind = pending ? before.end - call->enter : 0;
	int waits_by_itself = scope_of(call) != SCOPE_NONE;
	int own = waits_by_itself && scope_includes_own(call) && call->op &&
		call->op_end != WALK_NEVER;
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
		.kind = kind_of(call),
		.works_after = scope_empties_device(call),
		.waits = waits_by_itself,
		.may_be_behind = !waits_by_itself,
		.holds_others = scope_holds_others(call),
		.is_quick = is_quick(call),
		/* Loading a kernel drains the device too. */
		.waits_first = scope_waits_first(call) || (resize == RESIZE_YES && !call->overhead),
		.waits_never = resize == RESIZE_NO && !call->overhead,
		.before = pending ? before : ORDER_NOTHING,
		.own = own ? operation_of(call) : ORDER_NOTHING,
	};

	if (wait.kind == WAIT_EXPLICIT && pending && is_exact(waits, before) &&
		add_latency(waits, call, before))
		return -1;
	if (waits_by_itself && is_unblocked(call, behind, duration) &&
		usual_add(&waits->usual, own ? usual_key_of_own_wait(wait.key) : wait.key,
			duration - behind))
		return -1;
	if (add_afterwards(waits, &wait))
		return -1;
	/* Its time is too short to prove a wait, but an explicit wait counts anyway. */
	if (wait.kind == WAIT_EXPLICIT && pending && duration < WAIT_MIN_NS &&
		wait_use_add(&waits->uses, call->process, WAIT_EXPLICIT,
			behind < duration ? behind : duration))
		return -1;
	use_work_before_copy(waits, &wait);
	if (waits_by_itself && ((!pending && !own) || duration < WAIT_MIN_NS))
		return 0;
	return wait_list_add(&waits->list, &wait);
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
	return (is_quick(call) || call->kind == KIND_ALLOC_DEVICE || loads_code(call)) &&
		call->exit - call->enter - call->overhead >= BLOCKED_MIN_NS;
}

int waits_process_call(struct waits *waits, const struct order *order, const struct walk_call *call)
{
	enum scope scope = scope_within(call);
	struct order_state before;
	enum resize resize = resizes_process_call(waits->resizes, call);
	struct walk_call kept;
	int is_known;

	if (may_have_waited(call)) {
		before = pending_find(waits->pending, order, call, &scope);
		/* Nor do waits for unknown work, or for the call's own, show anything. */
		is_known = before.op != ORDER_OP_UNKNOWN && !call->unknown;
		/* Freeing memory of a pool does not wait, and does not show the usual duration. */
		kept = without_trim(waits, call);
		if (is_known && (scope != SCOPE_NONE || scope_of(call) == SCOPE_NONE) &&
			judge_later(waits, &kept, before, resize))
			return -1;
		if (before.op == ORDER_OP_UNKNOWN &&
			(scope_is_explicit(call) || scope_empties_device(call)))
			pending_end_unknown(waits->pending, call, scope);
	}
	pending_add(waits->pending, call);
	return record_copy_back(waits, order, call);
}

static struct wait_timing *settled_timing(struct waits *waits, int64_t process)
{
	struct wait_timing *timing = timing_of(waits, process);

	if (timing && !timing->settled)
		wait_timing_settle(timing);
	return timing;
}

/*
 * The call's work after its wait may be shorter than usual: on an H200 cudaFree of 128 KiB took 30
 * us and more, of 4 KiB next to other small memory 5 to 11.
 */
static struct wait_usual usual_of(struct waits *waits, const struct wait *wait)
{
	int64_t key = wait->key, expected = wait->expected;
	int64_t afterwards = usual_duration(&waits->usual, usual_key_afterwards(key), expected);

	return (struct wait_usual){
		.alone = usual_duration(&waits->usual, key, expected),
		.with_own = usual_duration(&waits->usual, usual_key_of_own_wait(key), 0),
		.afterwards = usual_duration(&waits->usual, key,
			afterwards < expected ? afterwards : expected),
	};
}

static int decide(struct waits *waits, struct wait *wait)
{
	struct wait_timing *timing = settled_timing(waits, wait->process);
	struct wait_usual usual = usual_of(waits, wait);
	int64_t behind;

	if (!timing)
		return -1;
	wait->by = wait_judge(wait, timing, &usual, &wait->waited);
	if (!wait->by.op) {
		/*
		 * The driver runs such calls one at a time, in any order: on an H200 one thread
		 * freed twelve times in 35 ms while two others waited to free.
		 */
		wait->may_be_behind |= wait->works_after && wait->waits;
		return 0;
	}
	behind = wait->by.end - wait->enter + timing->usually_late;
	if (wait->works_after && wait->waited > behind)
		wait->waited = behind;
	if (!wait->may_be_behind && wait->holds_others && held_calls_add(&waits->held, wait))
		return -1;
	return wait_add_row(wait, &waits->db->run->evidence, NULL);
}

/* Runs when all blocked calls are known. */
static int decide_behind(struct waits *waits, struct wait *wait)
{
	struct wait_timing *timing = settled_timing(waits, wait->process);
	const struct wait *held = NULL;
	int64_t excess = wait->exit - wait->enter - wait->overhead - wait->expected;
	int64_t latency;

	if (!timing)
		return -1;
	latency = timing->wake_up + wait->expected;
	if (wait->is_quick && latency < excess / QUICK_AFTER_PART)
		latency = excess / QUICK_AFTER_PART;
	if (!wait_is_short(timing, excess, BLOCKED_MIN_NS))
		held = held_calls_before(&waits->held, wait, latency, timing->error);
	if (!held)
		return wait->waits_never ? 0 : decide(waits, wait);
	/* A call that drains the device itself waited for the same work as the other call. */
	wait->partner = 0;
	wait->by = held->by;
	wait->waited = excess;
	if (wait->waits)
		return wait_add_row(wait, &waits->db->run->evidence, NULL);
	wait->kind = WAIT_BEHIND;
	return wait_add_row(wait, &waits->db->run->evidence, held);
}

int wait_is_for_others(const struct run *run, int64_t call)
{
	const struct run_wait *wait = run_wait_of(&run->evidence, call);

	for (; wait; wait = run_next_wait(&run->evidence, wait)) {
		const struct run_work *work = run_work(run, wait->op);

		if (!work || work->call != call)
			return 1;
	}
	return 0;
}

int waits_finish(struct waits *waits)
{
	int rc = 0;

	for (int behind = 0; behind < 2; behind++)
		for (size_t i = 0; i < waits->list.count && !rc; i++) {
			struct wait *wait = &waits->list.wait[i];

			if (wait->may_be_behind == behind)
				rc = behind ? decide_behind(waits, wait) : decide(waits, wait);
		}
	return rc || waits_add_staged(waits->db, &waits->list)
		? -1
		: waits_find_avoidable(waits->db, &waits->list);
}

int waits_store_use(struct waits *waits)
{
	return wait_use_store(&waits->uses, waits->db);
}
