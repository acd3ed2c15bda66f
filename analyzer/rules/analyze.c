/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze.h"

#include <stdlib.h>
#include <time.h>

#include "account.h"
#include "event_waits.h"
#include "findings.h"
#include "hazards.h"
#include "holds.h"
#include "redundant_waits.h"
#include "order.h"
#include "order_loss.h"
#include "pass.h"
#include "progress.h"
#include "rows.h"
#include "rules.h"
#include "set_up.h"
#include "run_build.h"
#include "timers.h"
#include "unknown.h"
#include "access_coverage.h"
#include "device_use.h"
#include "waits.h"
#include "walk.h"
#include "words.h"
#include "work.h"

/*
 * One of so many calls of the walk is timed, because reading the clock takes a noticeable part of a
 * call's time.  A prime, because rows are written 64 at a time.
 */
#define CALLS_A_SAMPLE 13
#define CALLS_A_SHOW (1 << 16) /* number of calls between progress messages */

struct stopwatch {
	struct analysis_times *times; /* NULL: nothing is timed */
	struct analysis_times *into;  /* times or samples, NULL: currently not timed */
	struct analysis_times samples;
	double since; /* time up to here is charged */
};

/* State of the walk over the run. */
struct analysis {
	struct stopwatch *watch;
	struct order order;
	struct waits *waits;
	struct holds *holds;
	struct redundant_waits *redundant;
	struct hazards *hazards;
	struct event_waits *event_waits;
	struct rows *edges, *apart;
	struct progress progress;
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Charges the time since the last charge to a part, a member of struct analysis_times. */
#define CHARGE(watch, part) ((watch)->into ? charge(watch, &(watch)->into->part) : (void)0)

static void charge(struct stopwatch *watch, double *part)
{
	double now = seconds();

	*part += now - watch->since;
	watch->since = now;
}

static void begin_sample(struct stopwatch *watch, int64_t call)
{
	if (!watch->times || call % CALLS_A_SAMPLE)
		return;
	watch->into = &watch->samples;
	watch->since = seconds();
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
	watch->since = seconds();
	by = sum > 0 ? (watch->since - began) / sum : 0;
	times->order += sum > 0 ? samples->order * by : watch->since - began;
	times->evidence += samples->evidence * by;
	times->fences += samples->fences * by;
	times->write += samples->write * by;
}

static int add_edge(void *arg, int64_t call, int64_t needs, enum order_reason reason)
{
	struct analysis *analysis = arg;
	int rc;

	if (reason == ORDER_STREAM && needs == run_link(analysis->order.db->run, call)->before)
		return 0;
	CHARGE(analysis->watch, order);
	rc = rows_add(analysis->edges, call, needs, order_reason_names[reason]);
	CHARGE(analysis->watch, write);
	return rc;
}

/*
 * waits checks the work pending before the call, holds the work that the call came after.  Table
 * apart has the calls that are not ordered by their stream as usual.
 */
static int process_in_order(struct analysis *analysis, const struct walk_call *call)
{
	struct stopwatch *watch = analysis->watch;
	struct order *order = &analysis->order;
	const struct run *run = order->db->run;
	int64_t last = call->id;

	CHARGE(watch, order);
	if (waits_process_call(analysis->waits, order, call))
		return -1;
	CHARGE(watch, evidence);
	if (order_step(order, call))
		return -1;
	if (order->given_up)
		last = (int64_t)run_call_end(run) - 1;
	if ((order->given_up ||
		    (run_link(run, call->id)->before &&
			    (!(order->needed & 1u << ORDER_STREAM) || order->overlaps))) &&
		rows_add(analysis->apart, call->id, last))
		return -1;
	CHARGE(watch, order);
	if (order->given_up)
		return 0;
	if (event_waits_process_call(analysis->event_waits, order, call))
		return -1;
	CHARGE(watch, write);
	holds_process_call(analysis->holds, order, call);
	CHARGE(watch, evidence);
	if (hazards_process_call(analysis->hazards, order, call))
		return -1;
	CHARGE(watch, fences);
	return 0;
}

static int process_call(void *arg, const struct walk_call *call)
{
	struct analysis *analysis = arg;
	int rc = 0;

	if (call->id % CALLS_A_SHOW == 1) {
		analysis->progress.done = (uint64_t)call->id;
		progress_show(&analysis->progress, "ordering the calls");
	}
	begin_sample(analysis->watch, call->id);
	redundant_waits_process_call(analysis->redundant, &analysis->order, call);
	CHARGE(analysis->watch, evidence);
	if (!analysis->order.given_up)
		rc = process_in_order(analysis, call);
	analysis->watch->into = NULL;
	return rc;
}

static int walk_the_run(struct db *db, struct analysis *analysis)
{
	struct stopwatch *watch = analysis->watch;
	double began;
	int rc;

	CHARGE(watch, evidence);
	began = watch->since;
	watch->into = NULL;
	rc = walk(db, process_call, analysis);
	share_walk(watch, began);
	return rc;
}

static int follow_the_run(struct db *db, struct stopwatch *watch)
{
	struct analysis analysis = { .order = { .edge = add_edge, .db = db }, .watch = watch };
	int rc = -1;

	analysis.order.arg = &analysis;
	progress_start(&analysis.progress, run_call_end(db->run));
	analysis.waits = waits_new(db);
	analysis.holds = holds_new(db);
	analysis.redundant = redundant_waits_new(db);
	analysis.hazards = hazards_new(db);
	analysis.event_waits = event_waits_new(db);
	/* A pair of calls may have two reasons, or one reason twice. */
	analysis.edges = rows_open(db, "INSERT OR IGNORE INTO edge", "iic");
	analysis.apart = rows_open(db, "INSERT INTO apart", "ii");
	pool_trims_find(db->run);
	if (analysis.apart && analysis.event_waits && analysis.waits && analysis.holds &&
		analysis.hazards && analysis.edges)
		rc = walk_the_run(db, &analysis) || rows_finish(analysis.edges) ||
				rows_finish(analysis.apart) ||
				event_waits_finish(analysis.event_waits) ||
				waits_finish(analysis.waits) || hazards_finish(analysis.hazards) ||
				waits_find_queue(db) || waits_store_use(analysis.waits) ||
				order_loss_add(db, analysis.order.given_up) ||
				run_evidence_write(&db->run->evidence, db)
			? -1
			: 0;
	rows_free(analysis.edges);
	rows_free(analysis.apart);
	event_waits_free(analysis.event_waits);
	waits_free(analysis.waits);
	holds_free(analysis.holds);
	redundant_waits_free(analysis.redundant);
	hazards_free(analysis.hazards);
	order_release(&analysis.order);
	progress_end(&analysis.progress);
	CHARGE(watch, evidence);
	return rc;
}

static int find(struct db *db)
{
	struct pass_input input = { .db = db, .run = db->run };
	struct words *words = words_open(db);
	struct findings *findings = words ? findings_new(db, words) : NULL;
	struct progress progress;
	int rc = !findings || stretches_load(&input.stretches, db) || needs_find(&input.needs, db)
		? -1
		: 0;

	loads_late_find(&input.late, db->run);
	progress_start(&progress, RULE_COUNT + 1);
	for (int i = 0; i < RULE_COUNT && !rc; i++, progress.done++) {
		progress_show(&progress, rules[i].id);
		rc = rules[i].pass->run(&input, findings);
	}
	if (!rc) {
		progress_show(&progress, "computing what is saved");
		rc = findings_store(findings);
	}
	progress_end(&progress);
	loads_late_release(&input.late);
	stretches_release(&input.stretches);
	needs_release(&input.needs);
	findings_free(findings);
	words_close(words);
	return rc;
}

/* Loading creates these indexes; needed for databases that were filled otherwise. */
/* clang-format off */
static const char prepare_sql[] =
	"CREATE INDEX IF NOT EXISTS call_thread ON call (thread, id);"
	"CREATE INDEX IF NOT EXISTS operation_call ON operation (call);"
	"CREATE INDEX IF NOT EXISTS overhead_call ON overhead (call);"
	"CREATE INDEX IF NOT EXISTS allocation_freed ON allocation (freed);"
	"CREATE INDEX IF NOT EXISTS operation_end ON operation (end);"
	"CREATE INDEX IF NOT EXISTS operand_call ON operand (call);"
	"CREATE INDEX IF NOT EXISTS wait_call ON wait (call);"
	"CREATE INDEX IF NOT EXISTS known_wait_call ON known_wait (call);"
	"DELETE FROM stream_use; DELETE FROM device_use; DELETE FROM account; DELETE FROM blocked;"
	"DELETE FROM wait_clock; DELETE FROM turn; DELETE FROM inner_loop; DELETE FROM loop;"
	"DELETE FROM edge; DELETE FROM apart; DELETE FROM event_wait; DELETE FROM hold; "
	"DELETE FROM hazard; DELETE FROM kernel_use;"
	"DELETE FROM wait; DELETE FROM wait_use; DELETE FROM known_wait;"
	"DELETE FROM finding; DELETE FROM finding_place; DELETE FROM finding_also; "
	"DELETE FROM finding_race; "
	"DELETE FROM loss WHERE reason IN ('" ORDER_LOSS "', '" HAZARD_LOSS "', '"
	HAZARD_FORGOTTEN "', '" UNKNOWN_LOSS "', '" UNKNOWN_ALL_LOSS "');"
	"DELETE FROM replay;";
/* clang-format on */

/* The run is as loaded, or read from the database. */
static int conclude(struct db *db, struct stopwatch *watch)
{
	int rc = db->run ? run_complete(db->run, db) : 1;

	if (rc > 0) {
		run_close(db->run);
		db->run = run_open(db);
		rc = db->run ? 0 : -1;
	}
	CHARGE(watch, columns);
	rc = rc || use_measure(db) || access_coverage_count(db) || unknown_store(db);
	CHARGE(watch, evidence);
	rc = rc || follow_the_run(db, watch) || account_measure(db) || timers_find(db) ||
		set_up_find(db) || find(db);
	CHARGE(watch, rules);
	run_close(db->run);
	db->run = NULL;
	return rc ? -1 : 0;
}

int analyze_timed(struct db *db, struct analysis_times *times)
{
	struct stopwatch watch = { .times = times, .into = times, .since = seconds() };
	int by_node = db->run ? run_is_by_node(db->run) : -1, rc;

	if (db_exec(db, "BEGIN IMMEDIATE"))
		return -1;
	rc = db_exec(db, prepare_sql) || (by_node < 0 ? work_make(db) : work_make_of(db, by_node));
	CHARGE(&watch, write);
	rc = rc || conclude(db, &watch) || db_exec(db, "COMMIT");
	CHARGE(&watch, write);
	if (rc)
		db_exec(db, "ROLLBACK");
	return rc ? -1 : 0;
}

int analyze(struct db *db)
{
	return analyze_timed(db, NULL);
}
