/* SPDX-License-Identifier: Apache-2.0 */
#include "shake.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "memory.h"
#include "print.h"
#include "shell.h"
#include "store.h"

enum {
	SLOWER_MOST = 10, /* times as long as the plain run, before a run is ended */
	SECONDS_LEAST = 30,
	BUDGET_PERCENT = 75, /* of the plain run: a shaken one then takes less than twice as long */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- runs --- */

/* What the user has set stays. */
static const char *unless_set(const char *name, const char *value)
{
	return getenv(name) ? NULL : value;
}

static int run_with(struct shake *shake, struct rerun *rerun, uint64_t seed)
{
	char number[24];
	/*
	 * Without a seed the settings end after the first one.
	 *
	 * A kernel's first launch orders by luck what loading its code waits for; streams that
	 * share a queue wait for each other.
	 */
	const struct run_setting settings[] = { { "CUFENCE_GUARD_HOST",
							shake->request->guard ? "1" : NULL },
		{ seed ? "CUFENCE_HOLD" : NULL, rerun->plan }, { "CUFENCE_MODE", "host" },
		{ SHAKEN_PROPERTY, number },
		{ "CUDA_MODULE_LOADING",
			seed % 2 ? unless_set("CUDA_MODULE_LOADING", "EAGER") : NULL },
		{ "CUDA_DEVICE_MAX_CONNECTIONS", unless_set("CUDA_DEVICE_MAX_CONNECTIONS", "32") },
		{ 0 } };
	struct rerun_request wanted = { .command = shake->request->command,
		.sanitizer = shake->sanitizer,
		.simulated = shake->request->simulated,
		.guarded = shake->request->guard,
		.library = seed ? "libcufence-hold.so" : NULL,
		.needs = "\"shake\"",
		.most = seed
			? (unsigned)(shake->plain_ns / 1000000000u * SLOWER_MOST) + SECONDS_LEAST
			: 0,
		.setting = settings };

	snprintf(number, sizeof(number), "%llu", (unsigned long long)seed);
	return rerun_program(rerun, &wanted);
}

int shake_run(struct shake *shake, struct rerun *rerun, struct hold_plan *plan, uint64_t seed)
{
	struct hold_plan *mapped;
	int rc;

	if (rerun_open(rerun, shake->request->database))
		return -1;
	mapped = rerun_plan(rerun, plan, sizeof(*plan));
	rc = mapped ? run_with(shake, rerun, seed) : -1;
	if (mapped) {
		*plan = *mapped;
		munmap(mapped, sizeof(*mapped));
	}
	return rc;
}

/* --- output --- */

/* What the command of --check prints, and its exit status, in a hash; status: that. */
static int check_output(const struct shake *shake, const struct rerun *rerun, uint64_t *hash,
	int *status)
{
	char *word = shell_word(rerun->stdout_file), bytes[4096];
	char *line = xprintf("{ %s\n} <%s", shake->request->check, word);
	FILE *pipe = popen(line, "re");
	size_t n;

	free(line);
	free(word);
	if (!pipe) {
		print(stderr, "cufence shake: cannot run '%s'\n", shake->request->check);
		return -1;
	}
	*hash = BYTE_HASH_SEED;
	while ((n = fread(bytes, 1, sizeof(bytes), pipe)) > 0)
		*hash = byte_hash(*hash, bytes, n);
	*status = pclose(pipe);
	*hash = byte_hash(*hash, status, sizeof(*status));
	return 0;
}

/* The hash of what a run's output is judged by. */
static int judge_output(const struct shake *shake, const struct rerun *rerun, uint64_t *hash)
{
	int status = 0;

	*hash = rerun->wrote;
	if (!shake->request->check)
		return 0;
	if (check_output(shake, rerun, hash, &status))
		return -1;
	if (!status || rerun != &shake->plain)
		return 0;
	print(stderr, "cufence shake: '%s' fails for the run that nothing disturbs\n",
		shake->request->check);
	return -1;
}

/* --- races --- */

/* One race may have places with the same fingerprint in several processes. */
static const char races_sql[] =
	"SELECT p.fingerprint, f.rule, p.confidence || ', ' || f.severity, p.message,"
	" coalesce(s.text, '?') || ' after ' || coalesce(o.text, '?') FROM finding_place p"
	" JOIN finding f ON f.id = p.finding LEFT JOIN site s ON s.id = p.site"
	" LEFT JOIN site o ON o.id = p.other_site"
	" WHERE p.hazard NOT NULL AND p.confidence <> 'possible'"
	" GROUP BY p.fingerprint ORDER BY min(p.id)";

static struct shake_race *race_of(struct shake *shake, sqlite3_stmt *row)
{
	struct shake_race *race;

	for (size_t i = 0; i < shake->races; i++)
		if (!strcmp(shake->race[i].fingerprint, db_text(row, 0)))
			return &shake->race[i];
	race = array_push(shake->race, shake->races);
	*race = (struct shake_race){ .fingerprint = xstrdup(db_text(row, 0)),
		.rule = xstrdup(db_text(row, 1)),
		.level = xstrdup(db_text(row, 2)),
		.message = xstrdup(db_text(row, 3)),
		.place = xstrdup(db_text(row, 4)),
		.count = -1 };
	return race;
}

/* run: NULL for the plain one. */
static int add_races(struct shake *shake, struct db *db, struct shaken *run)
{
	sqlite3_stmt *q = db_prepare(db, races_sql);
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		struct shake_race *race = race_of(shake, q);

		step = 0;
		if (run)
			*array_push(run->shown, run->shows) = (size_t)(race - shake->race);
		if (!run) {
			race->is_plain = 1;
		} else if (!race->runs++) {
			race->first = (size_t)(run - shake->run);
			run->is_kept |= !race->is_plain;
		}
	}
	sqlite3_finalize(q);
	return step;
}

int shake_shows(struct rerun *rerun, const char *fingerprint)
{
	sqlite3_stmt *q;
	struct db db;
	int shows = 0;

	if (!rerun->folder.count)
		return 0;
	if (rerun_load(rerun, &db, DB_OWN))
		return -1;
	q = db_prepare(&db,
		"SELECT count(*) FROM finding_place WHERE fingerprint = ? AND hazard NOT NULL"
		" AND confidence <> 'possible'");
	shows = q && !db_bind(q, "s", fingerprint) && db_step(q) > 0 ? sqlite3_column_int(q, 0) > 0
								     : -1;
	sqlite3_finalize(q);
	db_close(&db);
	return shows;
}

/* --- the plain run --- */

static int make_plain(struct shake *shake)
{
	struct hold_plan none = { .magic = HOLD_MAGIC };
	uint64_t start = now_ns();
	struct db db;
	int rc;

	if (shake_run(shake, &shake->plain, &none, 0))
		return -1;
	shake->plain_ns = now_ns() - start;
	shake->budget = shake->plain_ns / 100 * BUDGET_PERCENT;
	if (!shake->plain.folder.count) {
		fputs("cufence shake: nothing was traced: the program called no CUDA; \"cufence "
		      "run\" says why\n",
			stderr);
		return -1;
	}
	if (judge_output(shake, &shake->plain, &shake->checked) ||
		rerun_load(&shake->plain, &db, DB_OWN))
		return -1;
	rc = shake_calls_read(&shake->calls, &db) || add_races(shake, &db, NULL) ? -1 : 0;
	db_close(&db);
	return rc;
}

/* --- runs with a seed --- */

/* Why the library could not hold anything, as it has told the recorder. */
static int check_held(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT value FROM property WHERE name = 'hold' LIMIT 1");
	int step = q ? db_step(q) : -1;

	if (step > 0)
		print(stderr, "cufence shake: streams cannot be held: %s\n", db_text(q, 0));
	sqlite3_finalize(q);
	return step ? -1 : 0;
}

static int make_shaken(struct shake *shake, struct shaken *run)
{
	uint64_t hash, start = now_ns();
	struct db db;
	int rc;

	shake_plan_make(&run->plan, &shake->calls, run->seed, shake->budget);
	if (shake_run(shake, &run->rerun, &run->plan, run->seed))
		return -1;
	run->ns = now_ns() - start;
	if (judge_output(shake, &run->rerun, &hash))
		return -1;
	run->is_wrong = hash != shake->checked;
	run->is_ended = run->rerun.status == 128 + SIGKILL;
	if (run->is_ended || !run->rerun.folder.count)
		return 0;
	if (rerun_load(&run->rerun, &db, DB_OWN))
		return -1;
	rc = check_held(&db) || add_races(shake, &db, run) ? -1 : 0;
	db_close(&db);
	return rc;
}

static int make_runs(struct shake *shake)
{
	shake->run = xcalloc(shake->request->runs, sizeof(*shake->run));
	while (shake->runs < shake->request->runs) {
		struct shaken *run = &shake->run[shake->runs++];
		int rc;

		run->seed = shake->request->seed + shake->runs - 1;
		rc = make_shaken(shake, run);
		if (rc || !run->is_kept)
			rerun_close(&run->rerun);
		if (rc) {
			run->is_kept = 0;
			return -1;
		}
	}
	return 0;
}

/* --- the database --- */

static int store_answers(const struct shake *shake)
{
	sqlite3_stmt *q = NULL;
	struct db db;
	int rc = 0;

	if (db_open(&db, shake->request->database, DB_WRITE))
		return -1;
	q = db_prepare(&db,
		"INSERT OR REPLACE INTO confirmation (fingerprint, result, how)"
		" VALUES (?, 'shaken', ?)");
	for (size_t i = 0; q && i < shake->races && !rc; i++) {
		const struct shake_race *race = &shake->race[i];
		char *how = race->is_plain ? NULL : shake_needs_text(shake, race);

		if (how)
			rc = db_run(q, "ss", race->fingerprint, how);
		free(how);
	}
	sqlite3_finalize(q);
	db_close(&db);
	return q && !rc ? 0 : -1;
}

static int make_database(const struct shake *shake)
{
	struct analyze_input input = { .keeps_traces = 1 };
	char **trace = NULL, *line = NULL;
	size_t count = 0;
	int rc;

	for (size_t i = 0; i <= shake->runs; i++) {
		const struct rerun *rerun = i ? &shake->run[i - 1].rerun : &shake->plain;

		for (size_t k = 0; (!i || shake->run[i - 1].is_kept) && k < rerun->folder.count;
			k++)
			*array_push(trace, count) = rerun->folder.trace[k];
	}
	for (char **word = shake->request->command; *word; word++) {
		char *longer = xprintf("%s%s%s", line ? line : "", line ? " " : "", *word);

		free(line);
		line = longer;
	}
	input.trace = trace;
	input.count = count;
	input.command = line;
	rc = store_build(shake->request->database, &input) || store_answers(shake);
	free(trace);
	free(line);
	return rc ? -1 : 0;
}

int shake_make(struct shake *shake, const struct shake_request *request)
{
	struct program program;
	int rc = -1;

	*shake = (struct shake){ .request = request, .plain = { .descriptor = -1 } };
	program_inspect(&program, request->command[0]);
	if (program.obstacle)
		print(stderr, "cufence: '%s' cannot be traced: %s: %s\n", program.path,
			program.obstacle, program.hint);
	else
		rc = 0;
	shake->sanitizer = program.sanitizer;
	program.sanitizer = NULL;
	program_release(&program);
	if (rc || make_plain(shake) || make_runs(shake) || shake_shorten(shake))
		return -1;
	return make_database(shake);
}

void shake_release(struct shake *shake)
{
	for (size_t i = 0; i < shake->runs; i++) {
		if (shake->run[i].is_kept)
			rerun_close(&shake->run[i].rerun);
		free(shake->run[i].shown);
	}
	rerun_close(&shake->plain);
	for (size_t i = 0; i < shake->races; i++) {
		struct shake_race *race = &shake->race[i];

		free(race->fingerprint);
		free(race->rule);
		free(race->level);
		free(race->message);
		free(race->place);
	}
	free(shake->race);
	free(shake->run);
	free(shake->sanitizer);
	shake_calls_release(&shake->calls);
}
