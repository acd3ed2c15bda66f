/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze_walk.h"

#include <time.h>

#include "evidence_tables.h"
#include "hazards.h"
#include "order.h"
#include "order_loss.h"
#include "progress.h"
#include "rows.h"
#include "run_columns.h"
#include "waits.h"
#include "walk.h"

/*
 * One of so many calls of the walk is timed, because reading the clock takes a noticeable part of a
 * call's time.  A prime, because rows are written 64 at a time.
 */
#define CALLS_A_SAMPLE 13
#define CALLS_A_SHOW (1 << 16) /* number of calls between progress messages */

/* What each call goes to. */
struct visitors {
	struct stopwatch *watch;
	struct order order;
	struct waits *waits;
	struct holds *holds;
	struct redundant_waits *redundant;
	struct hazards *hazards;
	struct event_waits event_waits;
	struct rows *edges, *apart;
	struct progress progress;
};

double stopwatch_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Charges the time since the last charge to a part, a member of struct analysis_times. */
#define CHARGE(watch, part) \
	((watch)->into ? stopwatch_charge(watch, &(watch)->into->part) : (void)0)

void stopwatch_charge(struct stopwatch *watch, double *part)
{
	double now = stopwatch_now();

	*part += now - watch->since;
	watch->since = now;
}

static void begin_sample(struct stopwatch *watch, int64_t call)
{
	if (!watch->times || call % CALLS_A_SAMPLE)
		return;
	watch->into = &watch->samples;
	watch->since = stopwatch_now();
}

/* Distributes the walk's time to its parts in proportion to the samples. */
static void share_walk(struct stopwatch *watch, double began)
{
	struct analysis_times *samples = &watch->samples, *times = watch->times;
	double sum = samples->order + samples->evidence + samples->fences + samples->write;
	double by;

	watch->into = times;
	if (!times)
		return;
	watch->since = stopwatch_now();
	by = sum > 0 ? (watch->since - began) / sum : 0;
	times->order += sum > 0 ? samples->order * by : watch->since - began;
	times->evidence += samples->evidence * by;
	times->fences += samples->fences * by;
	times->write += samples->write * by;
}

static int add_edge(void *arg, int64_t call, int64_t needs, enum order_reason reason)
{
	struct visitors *visitors = arg;
	int rc;

	if (reason == ORDER_STREAM && needs == run_link(visitors->order.db->run, call)->before)
		return 0;
	CHARGE(visitors->watch, order);
	rc = rows_add(visitors->edges,
		ROW(edge, call, needs, cell_text(order_reason_names[reason])));
	CHARGE(visitors->watch, write);
	return rc;
}

/*
 * waits checks the work pending before the call, holds the work that the call came after.  Table
 * apart has the calls that are not ordered by their stream as usual.
 */
static int process_in_order(struct visitors *visitors, const struct walk_call *call)
{
	struct stopwatch *watch = visitors->watch;
	struct order *order = &visitors->order;
	const struct run *run = order->db->run;
	int64_t last = call->id;

	CHARGE(watch, order);
	waits_process_call(visitors->waits, order, call);
	CHARGE(watch, evidence);
	if (order_step(order, call))
		return -1;
	if (order->given_up)
		last = (int64_t)run_call_end(run) - 1;
	if ((order->given_up ||
		    (run_link(run, call->id)->before &&
			    (!(order->needed & 1u << ORDER_STREAM) || order->overlaps))) &&
		rows_add(visitors->apart, ROW(apart, call->id, last)))
		return -1;
	CHARGE(watch, order);
	if (order->given_up)
		return 0;
	if (event_waits_process_call(&visitors->event_waits, order, call))
		return -1;
	CHARGE(watch, write);
	holds_process_call(visitors->holds, order, call);
	CHARGE(watch, evidence);
	if (hazards_process_call(visitors->hazards, order, call))
		return -1;
	CHARGE(watch, fences);
	return 0;
}

static int process_call(void *arg, const struct walk_call *call)
{
	struct visitors *visitors = arg;
	int rc = 0;

	if (call->id % CALLS_A_SHOW == 1) {
		visitors->progress.done = (uint64_t)call->id;
		progress_show(&visitors->progress, "ordering the calls");
	}
	begin_sample(visitors->watch, call->id);
	redundant_waits_process_call(visitors->redundant, &visitors->order, call);
	CHARGE(visitors->watch, evidence);
	if (!visitors->order.given_up)
		rc = process_in_order(visitors, call);
	visitors->watch->into = NULL;
	return rc;
}

static int walk_the_run(struct db *db, struct visitors *visitors)
{
	struct stopwatch *watch = visitors->watch;
	double began;
	int rc;

	CHARGE(watch, evidence);
	began = watch->since;
	watch->into = NULL;
	rc = walk(db, process_call, visitors);
	share_walk(watch, began);
	return rc;
}

int analyze_walk(struct db *db, struct stopwatch *watch)
{
	struct visitors visitors = { .order = { .edge = add_edge, .db = db }, .watch = watch };
	int rc = -1;

	visitors.order.arg = &visitors;
	progress_start(&visitors.progress, run_call_end(db->run));
	visitors.waits = waits_new(db);
	visitors.holds = holds_new(db);
	visitors.redundant = redundant_waits_new(db);
	visitors.hazards = hazards_new(db);
	visitors.event_waits.rows = rows_open(db, TABLE_event_wait);
	/* A pair of calls may have two reasons, or one reason twice. */
	visitors.edges = rows_open(db, TABLE_edge);
	visitors.apart = rows_open(db, TABLE_apart);
	if (visitors.apart && visitors.event_waits.rows && visitors.waits && visitors.holds &&
		visitors.hazards && visitors.edges)
		rc = walk_the_run(db, &visitors) || rows_finish(visitors.edges) ||
				rows_finish(visitors.apart) ||
				rows_finish(visitors.event_waits.rows) ||
				waits_finish(visitors.waits) || hazards_finish(visitors.hazards) ||
				order_loss_add(db, visitors.order.given_up) ||
				run_evidence_write(&db->run->evidence, db)
			? -1
			: 0;
	rows_free(visitors.edges);
	rows_free(visitors.apart);
	rows_free(visitors.event_waits.rows);
	map_release(&visitors.event_waits.captured);
	waits_free(visitors.waits);
	holds_free(visitors.holds);
	redundant_waits_free(visitors.redundant);
	hazards_free(visitors.hazards);
	order_release(&visitors.order);
	progress_end(&visitors.progress);
	CHARGE(watch, evidence);
	return rc;
}
