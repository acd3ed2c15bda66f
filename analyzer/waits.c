/* SPDX-License-Identifier: Apache-2.0 */
#include "waits.h"

#include <stdlib.h>

#include "array.h"
#include "stretches.h"
#include "waits_scope.h"
#include "waits_usual.h"

/* A wait shorter than this is not told from noise. */
#define WAIT_MIN_NS 20000
/* Nor one shorter than this part of what the call usually takes: that varies. */
#define WAIT_MIN_PART 4

/* A call behind other work for less than this part of its time is an unblocked one. */
#define UNBLOCKED_PART 8

/*
 * Wake-up latency: from the end of what an explicit wait waited for to its return.  On an H200,
 * spinning threads take 2 microseconds (99 %: 3 to 14 by call), blocking ones 27 (99 %: 47), 16
 * threads at once 50 to 360.
 */
#define LATENCY_DEFAULT_NS 50000
#define LATENCY_FLOOR_NS 15000
#define LATENCY_CAP_NS 200000
#define LATENCY_MIN_EXAMPLES 8
#define LATENCY_LIMIT_NS 1000000

/* Clocks of host and device drift apart by a few microseconds between calibrations. */
#define ERROR_FLOOR_NS 5000
#define ERROR_CAP_NS 20000

/* A call that lasted and had something pending: decided when the run has been seen. */
struct candidate {
	int64_t call, process, key;
	int64_t enter, exit, overhead;
	int64_t expected;              /* waits.def */
	struct order_state before;     /* in scope, submitted before it */
	struct order_state own;        /* its own operation, if it waits for that */
	int explicit_wait;
};

/* What the explicit waits of a process say about its clocks and its scheduler. */
struct process_timing {
	struct sample latency;
	int64_t clock_error;
	int64_t wake_up, error;        /* ns, once settled */
	int settled;
};

struct waits {
	struct db *db;
	struct pending *pending;
	struct usual usual;
	struct idmap processes;        /* struct process_timing */
	sqlite3_stmt *clock_error;
	struct candidate *candidate;
	size_t candidate_count;
};

struct waits *waits_new(struct db *db)
{
	struct waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		return NULL;
	waits->db = db;
	waits->pending = pending_new(db);
	waits->clock_error = db_prepare(db, "SELECT clock_error FROM process WHERE id = ?");
	if (waits->pending && waits->clock_error)
		return waits;
	waits_free(waits);
	return NULL;
}

static void free_timing(void *object)
{
	struct process_timing *timing = object;

	sample_release(&timing->latency);
	free(timing);
}

void waits_free(struct waits *waits)
{
	if (!waits)
		return;
	pending_free(waits->pending);
	sqlite3_finalize(waits->clock_error);
	usual_release(&waits->usual);
	idmap_release(&waits->processes, free_timing);
	free(waits->candidate);
	free(waits);
}

static struct process_timing *timing_of(struct waits *waits, int64_t process)
{
	struct process_timing *timing = idmap_need(&waits->processes, process, sizeof(*timing));

	if (!timing || timing->clock_error)
		return timing;
	timing->clock_error = 1;
	if (db_bind(waits->clock_error, "i", process))
		return NULL;
	if (db_step(waits->clock_error) > 0 && sqlite3_column_int64(waits->clock_error, 0) > 0)
		timing->clock_error = sqlite3_column_int64(waits->clock_error, 0);
	sqlite3_reset(waits->clock_error);
	return timing;
}

static int note_latency(struct waits *waits, const struct walk_call *call,
	struct order_state state)
{
	struct process_timing *timing = timing_of(waits, call->process);
	int64_t latency = call->exit - state.end;

	if (!timing)
		return -1;
	if (latency < -ERROR_CAP_NS || latency > LATENCY_LIMIT_NS)
		return 0;
	return sample_add(&timing->latency, latency);
}

static int add_candidate(struct waits *waits, const struct candidate *candidate)
{
	struct candidate *more =
		array_room(waits->candidate, waits->candidate_count, sizeof(*more));

	if (!more)
		return -1;
	waits->candidate = more;
	waits->candidate[waits->candidate_count++] = *candidate;
	return 0;
}

static int judge_later(struct waits *waits, const struct walk_call *call,
	struct order_state before)
{
	int64_t duration = call->exit - call->enter - call->overhead;
	int pending = before.op && before.end > call->enter;
	int64_t behind = pending ? before.end - call->enter : 0;
	int own = scope_includes_own(call) && call->op && call->op_end != WALK_NEVER;
	struct candidate candidate = {
		.call = call->id, .process = call->process, .key = usual_key(call),
		.enter = call->enter, .exit = call->exit, .overhead = call->overhead,
		.expected = usual_expected(call), .explicit_wait = scope_is_explicit(call),
		.before = pending ? before : ORDER_NOTHING, .own = ORDER_NOTHING,
	};

	if (own)
		candidate.own = (struct order_state){ .call = call->id, .op = call->op,
			.end = call->op_end };
	if (candidate.explicit_wait && pending && note_latency(waits, call, before))
		return -1;
	/* What was pending for a small part of the call only is no reason for the rest. */
	if (behind < duration / UNBLOCKED_PART &&
		usual_add(&waits->usual, own ? usual_key_with_own(candidate.key) : candidate.key,
			duration - behind))
		return -1;
	if ((!pending && !own) || duration < WAIT_MIN_NS)
		return 0;
	return add_candidate(waits, &candidate);
}

int waits_see(struct waits *waits, const struct order *order, const struct walk_call *call)
{
	enum scope scope = call->result || call->exit == WALK_NEVER ? SCOPE_NONE : scope_of(call);
	struct order_state before;

	/* What it waited for was not recorded, so that it would pass for its own duration. */
	if (call->stretch == STRETCH_NONE)
		scope = SCOPE_NONE;

	if (scope != SCOPE_NONE) {
		if (pending_find(waits->pending, order, call, &scope, &before))
			return -1;
		if (scope != SCOPE_NONE && judge_later(waits, call, before))
			return -1;
	}
	return pending_add(waits->pending, call);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* A wait that seems to return before what it waited for has ended shows how far the clocks are
 * apart. */
static void settle(struct process_timing *timing)
{
	int64_t latency = LATENCY_DEFAULT_NS, early = 0;

	if (timing->latency.count >= LATENCY_MIN_EXAMPLES)
		latency = clamp(sample_quantile(&timing->latency, 0.99), LATENCY_FLOOR_NS,
			LATENCY_CAP_NS);
	if (timing->latency.count)
		early = -sample_quantile(&timing->latency, 0);
	timing->wake_up = latency;
	timing->error = clamp(early > timing->clock_error ? early : timing->clock_error,
		ERROR_FLOOR_NS, ERROR_CAP_NS);
	timing->settled = 1;
}

/*
 * What held the call, ORDER_NOTHING if it was not held: it ended just before the call returned.
 * A copy that spent most of its time behind earlier work is named after that work.
 */
static struct order_state held_by(const struct candidate *candidate, int64_t earliest,
	int64_t latest)
{
	struct order_state before = candidate->before, own = candidate->own;

	if (own.op && own.end >= earliest && own.end <= latest) {
		int64_t behind = before.op ? before.end - candidate->enter : 0;

		return behind >= (candidate->exit - candidate->enter) / 2 ? before : own;
	}
	if (before.op && before.end >= earliest && before.end <= latest)
		return before;
	return ORDER_NOTHING;
}

/*
 * What held the call if it usually takes that long, and for how much longer in excess;
 * ORDER_NOTHING if nothing did.
 */
static struct order_state judge(const struct candidate *candidate,
	const struct process_timing *timing, int64_t usual, int64_t *excess)
{
	*excess = candidate->exit - candidate->enter - candidate->overhead - usual;
	if (*excess < WAIT_MIN_NS || *excess < 3 * timing->clock_error ||
		*excess < usual / WAIT_MIN_PART)
		return ORDER_NOTHING;
	return held_by(candidate, candidate->exit - timing->wake_up - usual,
		candidate->exit + timing->error);
}

static int decide(struct waits *waits, struct candidate *candidate, sqlite3_stmt *insert)
{
	struct process_timing *timing = timing_of(waits, candidate->process);
	int64_t usual = usual_duration(&waits->usual, candidate->key, candidate->expected);
	int64_t with_own = usual_duration(&waits->usual, usual_key_with_own(candidate->key), 0);
	int64_t excess;
	struct order_state by;

	if (!timing)
		return -1;
	if (!timing->settled)
		settle(timing);
	by = judge(candidate, timing, usual, &excess);
	/* A copy whose own transfer is known from this run: what is beyond that, others caused. */
	if (!by.op && candidate->before.op && with_own) {
		candidate->own = ORDER_NOTHING;
		by = judge(candidate, timing, with_own, &excess);
	}
	if (!by.op)
		return 0;
	return db_run(insert, "isii", candidate->call,
		candidate->explicit_wait ? "explicit" : "implicit", by.op, excess);
}

int waits_finish(struct waits *waits)
{
	sqlite3_stmt *insert = db_prepare(waits->db,
		"INSERT INTO wait (call, kind, op, waited, avoidable) VALUES (?, ?, ?, ?, 0)");
	int rc = insert ? 0 : -1;

	for (size_t i = 0; i < waits->candidate_count && !rc; i++)
		rc = decide(waits, &waits->candidate[i], insert);
	sqlite3_finalize(insert);
	return rc ? -1 : waits_find_avoidable(waits->db);
}
