/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze.h"

#include <stddef.h>
#include <sys/stat.h>

#include "access.h"
#include "access_coverage.h"
#include "account.h"
#include "analyze_walk.h"
#include "annotations.h"
#include "directions.h"
#include "evidence_tables.h"
#include "findings.h"
#include "handovers.h"
#include "hazards.h"
#include "kept_trace.h"
#include "kernel_names.h"
#include "load.h"
#include "order_loss.h"
#include "pass.h"
#include "progress.h"
#include "rules.h"
#include "run_build.h"
#include "schema.h"
#include "set_up.h"
#include "symbols.h"
#include "textures.h"
#include "unknown.h"
#include "variables.h"
#include "watch.h"
#include "words.h"
#include "work.h"

struct analysis {
	struct db *db;
	const struct analyze_input *input;
	struct stopwatch watch;
	struct access_reader *accesses; /* kept for all of them */
	int in_transaction;
};

/* --- from the traces --- */

/* The columns of the run are filled while its rows are written. */
static int open_columns(struct analysis *analysis)
{
	const struct analyze_input *input = analysis->input;
	struct run_room room;
	uint64_t bytes = 0;
	struct stat stat;

	for (size_t i = 0; i < input->count; i++)
		if (!lstat(input->trace[i], &stat))
			bytes += (uint64_t)stat.st_size;
	room = run_room_of(bytes, 1);
	analysis->db->run = run_new(&room);
	return analysis->db->run ? 0 : -1;
}

static int load(struct analysis *analysis)
{
	const struct analyze_input *input = analysis->input;

	return load_traces(analysis->db, input->trace, input->count, input->command,
		       input->last_window) ||
			watch_store(input->watch, analysis->db)
		? -1
		: 0;
}

static int keep_traces(struct analysis *analysis)
{
	const struct analyze_input *input = analysis->input;

	return input->keeps_traces
		? kept_trace_store(analysis->db, input->trace, input->count, input->command)
		: 0;
}

static int apply_annotations(struct analysis *analysis)
{
	return annotations_apply(analysis->db, analysis->input->annotations);
}

/* --- from the raw tables --- */

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
	"DELETE FROM loss WHERE reason IN ("
#define LOSS(reason, effect, calls, work, numbers, found, text) LOSS_IF_##found(reason)
#include "losses.def"
	LOSS_NONE ");";
/* clang-format on */

static int empty_derived_tables(struct analysis *analysis)
{
	struct db *db = analysis->db;
	int by_node = db->run ? run_is_by_node(db->run) : -1;

	if (db_exec(db, "BEGIN IMMEDIATE"))
		return -1;
	analysis->in_transaction = 1;
	return schema_delete_derived(db) || db_exec(db, prepare_sql) ||
			(by_node < 0 ? work_make(db) : work_make_of(db, by_node))
		? -1
		: 0;
}

/* The run is as loaded, or read from the database. */
static int complete_columns(struct db *db)
{
	int rc = db->run ? run_complete(db->run, db) : 1;

	if (rc > 0) {
		run_close(db->run);
		db->run = run_open(db);
		rc = db->run ? 0 : -1;
	}
	return rc;
}

/* The walk and the passes read the accesses of the same calls. */
static int walk_over_run(struct analysis *analysis)
{
	analysis->accesses = access_share(analysis->db, 0);
	if (!analysis->accesses)
		return -1;
	return analyze_walk(analysis->db, &analysis->watch);
}

/* Every pass, then what becomes of the instances: findings, their savings and places. */
static int find_instances(struct db *db)
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

static void close_run(struct analysis *analysis)
{
	access_close(analysis->accesses);
	analysis->accesses = NULL;
	run_close(analysis->db->run);
	analysis->db->run = NULL;
}

static int commit(struct analysis *analysis)
{
	close_run(analysis);
	if (db_exec(analysis->db, "COMMIT"))
		return -1;
	analysis->in_transaction = 0;
	return 0;
}

/* --- all of it --- */

#define PART(part) offsetof(struct analysis_times, part)
enum { TRACES, ALWAYS };

static const struct stage {
	int when;                              /* TRACES: only where there are traces */
	size_t part;                           /* of struct analysis_times */
	int (*of_db)(struct db *db);           /* either */
	int (*run)(struct analysis *analysis); /* or */
} stages[] = {
	/* Raw tables: what the traces say, and the files that they name. */
	{ TRACES, PART(columns), .run = open_columns },
	{ TRACES, PART(columns), .run = load },
	{ TRACES, PART(columns), .of_db = symbols_resolve }, /* functions, files and lines */
	{ TRACES, PART(columns), .of_db = kernel_names_resolve },
	{ TRACES, PART(columns), .of_db = directions_resolve }, /* what kernels read and write */
	{ TRACES, PART(columns), .of_db = variables_resolve },
	{ TRACES, PART(columns), .of_db = textures_resolve },
	{ ALWAYS, PART(columns), .run = apply_annotations },
	/* Derived tables, in one transaction. */
	{ ALWAYS, PART(write), .run = empty_derived_tables },
	{ ALWAYS, PART(columns), .of_db = complete_columns },
	{ ALWAYS, PART(evidence), .of_db = use_measure }, /* how busy streams and devices were */
	{ ALWAYS, PART(evidence), .of_db = access_coverage_count },
	{ ALWAYS, PART(evidence), .of_db = unknown_store },
	{ ALWAYS, PART(evidence), .run = walk_over_run },  /* order, waits, holds, hazards */
	{ ALWAYS, PART(rules), .of_db = handovers_find },  /* threads that wait for each other */
	{ ALWAYS, PART(rules), .of_db = account_measure }, /* the loop, and why devices idle */
	{ ALWAYS, PART(rules), .of_db = timers_find },
	{ ALWAYS, PART(rules), .of_db = set_up_find },
	{ ALWAYS, PART(rules), .of_db = find_instances }, /* needs, passes, replays, findings */
	{ ALWAYS, PART(write), .run = commit },
	{ TRACES, PART(write), .run = keep_traces },
};

static int run_stages(struct analysis *analysis, int from)
{
	struct stopwatch *watch = &analysis->watch;
	struct db *db = analysis->db;
	int rc = 0;

	for (size_t i = 0; i < sizeof(stages) / sizeof(*stages) && !rc; i++) {
		const struct stage *stage = &stages[i];

		if (stage->when < from)
			continue;
		rc = stage->of_db ? stage->of_db(db) : stage->run(analysis);
		if (watch->times)
			stopwatch_charge(watch, (double *)((char *)watch->times + stage->part));
	}
	if (rc && analysis->in_transaction)
		db_exec(db, "ROLLBACK");
	close_run(analysis);
	return rc ? -1 : 0;
}

int analyze_traces(struct db *db, const struct analyze_input *input)
{
	struct analysis analysis = { .db = db, .input = input };

	return run_stages(&analysis, TRACES);
}

int analyze_annotated(struct db *db, const struct annotations *annotations)
{
	struct analyze_input input = { .annotations = annotations };
	struct analysis analysis = { .db = db, .input = &input };

	return run_stages(&analysis, ALWAYS);
}

int analyze(struct db *db)
{
	return analyze_annotated(db, NULL);
}

int analyze_timed(struct db *db, struct analysis_times *times)
{
	struct analyze_input input = { 0 };
	struct analysis analysis = { .db = db,
		.input = &input,
		.watch = { .times = times, .into = times, .since = stopwatch_now() } };

	return run_stages(&analysis, ALWAYS);
}
