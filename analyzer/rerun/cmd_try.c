/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufence try: what the fix of a finding saves, by trying it.  The program runs with a library that
 * makes the finding's calls as the fix would have them, and without, in turn.  Before that one run
 * under the guard of host memory shows whether anything needs what these calls wait for.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "command.h"
#include "memory.h"
#include "print.h"
#include "rerun.h"
#include "run_settings.h"
#include "trial.h"

enum { PAIRS = 3, MOST_PAIRS = 100 };

struct request {
	const struct arguments *arguments;
	const char *database;
	const char *findings; /* "1,2"; NULL: all */
	char **command;
	struct program program;
	int simulated, pairs;
};

/* A run of the program. */
struct measured {
	int64_t time; /* ns, from its first CUDA call until all is done */
	int64_t applied;
	uint64_t wrote;
};

static int run_once(const struct request *request, const struct fix_plan *plan, int is_eager,
	int guarded, struct rerun *rerun, struct measured *measured)
{
	const struct run_setting settings[] = { { "CUFENCE_FIX", rerun->plan },
		{ "CUFENCE_MODE", "host" }, { "CUFENCE_GUARD_HOST", guarded ? "1" : NULL },
		{ "CUDA_MODULE_LOADING", is_eager ? "EAGER" : NULL }, { 0 } };
	const struct rerun_request again = { .command = request->command,
		.sanitizer = request->program.sanitizer,
		.simulated = request->simulated,
		.guarded = guarded,
		.library = "libcufence-fix.so",
		.needs = "\"try\"",
		.output = option(request->arguments, "--output"),
		.check = option(request->arguments, "--check"),
		.setting = settings };
	struct fix_plan *mapped = rerun_plan(rerun, plan, sizeof(*plan));
	int rc = !mapped || rerun_program(rerun, &again);

	if (!rc) {
		measured->wrote = rerun->wrote;
		measured->applied = (int64_t)mapped->applied;
		measured->time = (int64_t)(mapped->ended - mapped->began);
		if (!mapped->began || mapped->ended < mapped->began) {
			print(stderr,
				"cufence try: the fix was not loaded: the program makes no CUDA "
				"call, or its driver is too old\n");
			rc = -1;
		}
	}
	if (mapped)
		munmap(mapped, sizeof(*mapped));
	return rc ? -1 : 0;
}

static int measure(const struct request *request, const struct trial *trial,
	struct measured *measured)
{
	const struct fix_plan bare = { .magic = FIX_MAGIC };
	struct rerun rerun;
	int rc = rerun_open(&rerun, request->database) ||
		run_once(request, trial ? &trial->plan : &bare,
			trial && trial->treatment == FIX_EAGER, 0, &rerun, measured);

	rerun_close(&rerun);
	return rc ? -1 : 0;
}

/* A run with the fix under the guard, which is not measured. */
static int judge(const struct request *request, struct trial *trial)
{
	struct measured measured;
	struct rerun rerun;
	struct db db;
	int rc = rerun_open(&rerun, request->database) ||
		run_once(request, &trial->plan, 0, 1, &rerun, &measured) ||
		rerun_load(&rerun, &db, DB_WRITE);

	if (!rc) {
		rc = trial_judge(trial, &db);
		db_close(&db);
	}
	rerun_close(&rerun);
	return rc ? -1 : 0;
}

static int compare(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

	return (a > b) - (a < b);
}

/* Without and with the fix, in turn.  An output that differs by itself says nothing. */
static int measure_pairs(const struct request *request, struct trial *trial)
{
	int64_t saved[MOST_PAIRS];
	uint64_t wrote = 0;
	int is_steady = 1, differs = 0;

	for (int i = 0; i < request->pairs; i++) {
		struct measured without, with;

		if (measure(request, NULL, &without) || measure(request, trial, &with))
			return -1;
		is_steady = is_steady && (!i || wrote == without.wrote);
		wrote = without.wrote;
		differs |= with.wrote != without.wrote;
		saved[i] = without.time - with.time;
		trial->applied = with.applied;
	}
	qsort(saved, (size_t)request->pairs, sizeof(*saved), compare);
	trial->runs = request->pairs;
	trial->least = saved[0];
	trial->most = saved[request->pairs - 1];
	trial->saved = saved[request->pairs / 2];
	if (trial->treatment != FIX_EAGER && !trial->applied)
		trial->result = TRIAL_NOT_APPLIED;
	else if (differs && is_steady)
		trial->result = TRIAL_OUTPUT;
	return 0;
}

/* Stores and prints the answer at once, as the next finding may take long. */
static int try_finding(const struct request *request, struct db *db, int64_t finding, int *failed)
{
	struct trial trial;
	int rc = trial_of_finding(&trial, db, finding);

	if (!rc && !trial.refusal && TREATMENT_UNORDERS(trial.treatment))
		rc = judge(request, &trial);
	if (!rc && trial.result == TRIAL_TRIED)
		rc = measure_pairs(request, &trial);
	if (!rc)
		rc = trial_store(&trial, db);
	if (!rc) {
		trial_print(&trial, stdout);
		fflush(stdout);
	}
	*failed |= trial.result != TRIAL_TRIED;
	trial_release(&trial);
	return rc;
}

/* --- the request --- */

/* Reads the next number of "1,2": the rest of the text, or NULL. */
static const char *read_number(const char *text, int64_t *number)
{
	char *end;

	text += *text == '#';
	*number = strtoll(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *number <= 0 || (*end && *end != ','))
		return NULL;
	return *end ? end + 1 : end;
}

static int is_list(const char *text)
{
	int64_t number;

	while (text && *text)
		text = read_number(text, &number);
	return text != NULL;
}

static int try_listed(const struct request *request, struct db *db, int *failed)
{
	const char *at = request->findings;
	int64_t number;

	while (*at) {
		at = read_number(at, &number);
		if (!at || try_finding(request, db, number, failed))
			return -1;
	}
	return 0;
}

/* Those that a report shows and that save time. */
static int try_all(const struct request *request, struct db *db, int *failed)
{
	sqlite3_stmt *q =
		db_prepare(db, "SELECT id FROM finding WHERE shown AND saving > 0 ORDER BY id");
	int64_t *findings = NULL;
	size_t count = 0;
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		findings = array_grown(findings, count, sizeof(*findings));
		findings[count++] = sqlite3_column_int64(q, 0);
		step = 0;
	}
	sqlite3_finalize(q);
	for (size_t i = 0; i < count && !step; i++)
		step = try_finding(request, db, findings[i], failed);
	free(findings);
	if (!step && !count)
		print(stdout, "no finding is shown that saves time\n");
	return step;
}

/* The operands are the database (optional), the findings unless all are tried, and the command. */
static int read_request(struct request *request)
{
	const char *pairs = option(request->arguments, "--repeat");
	char **operand = request->arguments->operand, *end = NULL;
	int all = option(request->arguments, "--all") != NULL, at = 0;

	request->pairs = pairs ? (int)strtol(pairs, &end, 10) : PAIRS;
	if (pairs && (!*pairs || *end || request->pairs < 1 || request->pairs > MOST_PAIRS)) {
		print(stderr, "cufence try: --repeat wants a number from 1 to %d\n", MOST_PAIRS);
		return -1;
	}
	request->database = "cufence.db";
	if (operand[0] && !is_list(operand[0]) && request->arguments->separator != 0)
		request->database = operand[at++];
	if (!all && (!operand[at] || !is_list(operand[at]))) {
		print(stderr,
			"cufence try: give the numbers of findings, or --all, before the "
			"command\n");
		return -1;
	}
	request->findings = all ? NULL : operand[at++];
	request->command = operand + at;
	if (*request->command)
		return 0;
	print(stderr, "cufence try: the command to run is missing: add -- CMD...\n");
	return -1;
}

static int try(struct request *request, int *failed)
{
	struct db db;
	int rc;

	if (db_open(&db, request->database, DB_WRITE))
		return -1;
	request->simulated = option(request->arguments, "--sim") ||
		db_int(&db, "SELECT max(simulated) FROM process", 0);
	if (request->program.obstacle) {
		print(stderr, "cufence try: %s\n", request->program.obstacle);
		rc = -1;
	} else {
		rc = request->findings ? try_listed(request, &db, failed)
				       : try_all(request, &db, failed);
	}
	db_close(&db);
	return rc;
}

int cmd_try(const struct arguments *arguments)
{
	struct request request = { .arguments = arguments };
	int failed = 0, rc;

	run_warn_environment();
	if (read_request(&request))
		return EXIT_TROUBLE;
	program_inspect(&request.program, request.command[0]);
	rc = try(&request, &failed);
	program_release(&request.program);
	return rc ? EXIT_TROUBLE : failed;
}
