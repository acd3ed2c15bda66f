/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze_walk.h"

#include <stdlib.h>
#include <time.h>

#include "evidence_tables.h"
#include "hazards.h"
#include "large.h"
#include "memory.h"
#include "order.h"
#include "order_loss.h"
#include "order_path.h"
#include "progress.h"
#include "rows.h"
#include "run_columns.h"
#include "waits.h"
#include "walk.h"
#include "workers.h"

/*
 * One of so many calls of the walk is timed, because reading the clock takes a noticeable part of a
 * call's time.  A prime, because rows are written 64 at a time.
 */
#define CALLS_A_SAMPLE 13
#define CALLS_A_SHOW (1 << 16) /* number of calls between progress messages */

/* All parts of a walk, which go on at the same time. */
struct walks {
	struct db *db;
	const struct walk_run *run;
	struct walk_part *part;
	struct visitors **of; /* each part */
	size_t count;
	struct progress progress; /* calls so far */
};

/* Rows of table apart, which are stored when all parts have been walked. */
struct found_apart {
	uint32_t first, last;
};

/* What each call of a part goes to. */
struct visitors {
	struct walks *walks;
	const struct walk_part *part;
	struct stopwatch watch;
	struct order order;
	struct waits *waits;
	struct holds *holds;
	struct redundant_waits *redundant;
	struct hazards *hazards;
	struct event_waits event_waits;
	struct found_apart *apart;
	size_t apart_count;
	struct run_evidence *evidence, own; /* that of the run for the first part, else own */
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
	struct run_evidence *evidence = visitors->evidence;

	if (reason == ORDER_STREAM && needs == run_link(visitors->order.db->run, call)->before)
		return 0;
	*large_push(evidence->edge, evidence->edge_count) =
		(struct run_edge){ (uint32_t)call, (uint32_t)needs, reason };
	return 0;
}

/* Adds to table apart, which has the calls that are not ordered by their stream as usual. */
static void add_apart(struct visitors *visitors, const struct walk_call *call)
{
	const struct order *order = &visitors->order;
	const struct run_link *link = run_link(order->db->run, call->id);
	int64_t last = order->given_up ? (int64_t)visitors->part->end - 1 : call->id;

	if (order->given_up ||
		(link->before && (!(order->needed & 1u << ORDER_STREAM) || order->overlaps)))
		*large_push(visitors->apart, visitors->apart_count) =
			(struct found_apart){ (uint32_t)call->id, (uint32_t)last };
}

/* waits checks the work pending before the call, holds the work that the call came after. */
static int process_in_order(struct visitors *visitors, const struct walk_call *call)
{
	struct stopwatch *watch = &visitors->watch;
	struct order *order = &visitors->order;

	CHARGE(watch, order);
	waits_process_call(visitors->waits, order, call);
	CHARGE(watch, evidence);
	if (order_step(order, call))
		return -1;
	add_apart(visitors, call);
	CHARGE(watch, order);
	if (order->given_up)
		return 0;
	event_waits_process_call(&visitors->event_waits, order, call);
	CHARGE(watch, write);
	holds_process_call(visitors->holds, order, call);
	CHARGE(watch, evidence);
	if (hazards_process_call(visitors->hazards, order, call))
		return -1;
	CHARGE(watch, fences);
	return 0;
}

static void show_progress(struct walks *walks)
{
	db_lock(walks->db);
	progress_show(&walks->progress, "ordering the calls");
	walks->progress.done += CALLS_A_SHOW;
	db_unlock(walks->db);
}

static int process_call(void *arg, const struct walk_call *call)
{
	struct visitors *visitors = arg;
	int rc = 0;

	if (call->id % CALLS_A_SHOW == 1)
		show_progress(visitors->walks);
	begin_sample(&visitors->watch, call->id);
	redundant_waits_process_call(visitors->redundant, &visitors->order, call);
	CHARGE(&visitors->watch, evidence);
	if (!visitors->order.given_up)
		rc = process_in_order(visitors, call);
	visitors->watch.into = NULL;
	return rc;
}

static int walk_one(void *arg, size_t number)
{
	const struct walks *walks = arg;

	return hazards_look_ahead(walks->of[number]->hazards, &walks->part[number]) ||
			walk_part(walks->run, &walks->part[number], process_call, walks->of[number])
		? -1
		: 0;
}

/* --- the parts --- */

static int open_visitors(struct walks *walks, const struct walk_part *part,
	const struct stopwatch *watch)
{
	struct visitors *visitors = walks->of[part->number] = xcalloc(1, sizeof(*visitors));
	struct db *db = walks->db;

	visitors->walks = walks;
	visitors->part = part;
	visitors->watch.times = watch->times;
	visitors->order = (struct order){ .edge = add_edge, .arg = visitors, .db = db };
	visitors->evidence = part->number ? &visitors->own : &db->run->evidence;
	visitors->waits = waits_new(db, visitors->evidence);
	visitors->holds = holds_new(db, part, visitors->evidence);
	visitors->redundant = redundant_waits_new(db->run, visitors->evidence);
	visitors->hazards = hazards_new(db, part);
	return visitors->waits && visitors->holds && visitors->hazards ? 0 : -1;
}

static void close_visitors(struct visitors *visitors)
{
	large_free(visitors->apart);
	event_waits_release(&visitors->event_waits);
	waits_free(visitors->waits);
	holds_free(visitors->holds);
	redundant_waits_free(visitors->redundant);
	hazards_free(visitors->hazards);
	order_release(&visitors->order);
	run_evidence_release(&visitors->own);
	free(visitors);
}

/* What was found in one part follows that of another, as its calls do. */
static void join_evidence(const struct walks *walks)
{
	for (size_t i = 1; i < walks->count; i++) {
		struct visitors *first = walks->of[0], *later = walks->of[i];

		waits_join(first->waits, later->waits);
		run_evidence_join(first->evidence, later->evidence);
		run_evidence_release(later->evidence);
		*later->evidence = (struct run_evidence){ 0 };
	}
	order_path_sort_edges(&walks->db->run->evidence);
}

/* A pair of calls may have two reasons, or one reason twice. */
static int store_order(const struct walks *walks)
{
	const struct run_evidence *evidence = &walks->db->run->evidence;
	struct rows *edges = rows_open(walks->db, TABLE_edge);
	struct rows *apart = rows_open(walks->db, TABLE_apart);
	struct rows *waits = rows_open(walks->db, TABLE_event_wait);
	int rc = edges && apart && waits ? 0 : -1;

	for (size_t i = 0; i < evidence->edge_count && !rc; i++)
		rc = rows_add(edges,
			ROW(edge, evidence->edge[i].call, evidence->edge[i].needs,
				cell_text(order_reason_names[evidence->edge[i].reason])));
	for (size_t part = 0; part < walks->count && !rc; part++) {
		const struct visitors *of = walks->of[part];

		for (size_t i = 0; i < of->apart_count && !rc; i++)
			rc = rows_add(apart, ROW(apart, of->apart[i].first, of->apart[i].last));
		rc = rc || event_waits_store(&of->event_waits, waits) ? -1 : 0;
	}
	rc = rc || rows_finish(edges) || rows_finish(apart) || rows_finish(waits) ? -1 : 0;
	rows_free(edges);
	rows_free(apart);
	rows_free(waits);
	return rc;
}

static int store_waits(const struct walks *walks)
{
	join_evidence(walks);
	return store_order(walks) || (walks->count && waits_finish(walks->of[0]->waits)) ? -1 : 0;
}

static int store_hazards(const struct walks *walks)
{
	int rc = 0;

	for (size_t i = 0; i < walks->count && !rc; i++)
		rc = hazards_finish(walks->of[i]->hazards);
	for (size_t i = 0; i < walks->count && !rc; i++)
		rc = hazards_finish_losses(walks->of[i]->hazards);
	for (size_t i = 0; i < walks->count && !rc; i++)
		rc = order_loss_add(walks->db, walks->of[i]->order.given_up, walks->part[i].end);
	return rc;
}

/* Walks all parts, and charges the time. */
static int walk_parts_of(struct walks *walks, struct stopwatch *watch)
{
	double began;
	int rc;

	CHARGE(watch, evidence);
	began = watch->since;
	watch->into = NULL;
	rc = workers_run(walks->count, walk_one, walks);
	for (size_t i = 0; i < walks->count; i++) {
		const struct analysis_times *times = &walks->of[i]->watch.samples;

		watch->samples.order += times->order;
		watch->samples.evidence += times->evidence;
		watch->samples.fences += times->fences;
		watch->samples.write += times->write;
	}
	share_walk(watch, began);
	return rc;
}

int analyze_walk(struct db *db, struct stopwatch *watch)
{
	struct walk_run *run = walk_open(db);
	struct walks walks = { .db = db, .run = run };
	int rc = run ? 0 : -1;

	progress_start(&walks.progress, run_call_end(db->run));
	if (run)
		walks.count = walk_parts(run, &walks.part);
	walks.of = xcalloc(walks.count, sizeof(*walks.of));
	for (size_t i = 0; i < walks.count && !rc; i++)
		rc = open_visitors(&walks, &walks.part[i], watch);
	if (!rc)
		rc = walk_parts_of(&walks, watch) || store_waits(&walks) || store_hazards(&walks) ||
				run_evidence_write(&db->run->evidence, db)
			? -1
			: 0;
	for (size_t i = 0; i < walks.count && walks.of[i]; i++)
		close_visitors(walks.of[i]);
	free(walks.of);
	free(walks.part);
	walk_close(run);
	progress_end(&walks.progress);
	CHARGE(watch, evidence);
	return rc;
}
