/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufence try: what the fix of a finding saves, by trying it.  The program runs with a library that
 * makes the finding's calls as the fix would have them, and without, in turn.  Before that one run
 * under the guard of host memory shows whether anything needs what these calls wait for.  Several
 * findings are tried one by one, and those that save time together.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "print.h"
#include "run_settings.h"
#include "try.h"

enum { PAIRS = 3 };

struct trials {
	struct trial *trial;
	size_t count;
};

/* --- one by one --- */

/* Stores and prints the answer at once, as the next finding may take long. */
static int try_finding(const struct try_request *request, struct db *db, struct trial *trial,
	int64_t finding)
{
	int rc = trial_of_finding(trial, db, finding);

	if (!rc && !trial->refusal)
		rc = try_judge(request, &trial, 1, db);
	if (!rc && trial->result == TRIAL_TRIED) {
		rc = try_measure(request, &trial, 1, &trial->saving, &trial->differs);
		trial_conclude(trial);
	}
	if (!rc)
		rc = trial_store(trial, db);
	if (!rc) {
		trial_print(trial, stdout);
		fflush(stdout);
	}
	return rc;
}

/* --- together --- */

static int is_worth_it(const struct trial *trial)
{
	return trial->result == TRIAL_TRIED && !trial->fix.off &&
		(trial->saving.saved > 0 || trial->fix.treatment == FIX_FENCE);
}

/* What saves most comes first. */
static int compare_savings(const void *one, const void *other)
{
	const struct trial *a = *(struct trial *const *)one, *b = *(struct trial *const *)other;

	if (a->saving.saved != b->saving.saved)
		return a->saving.saved < b->saving.saved ? 1 : -1;
	return (a->finding > b->finding) - (a->finding < b->finding);
}

static void print_numbers(struct trial *const *set, size_t count, FILE *out)
{
	for (size_t i = 0; i < count; i++)
		print(out, "%s#%lld", i ? ", " : "", (long long)set[i]->finding);
}

/* Leaves out those that are refused together with the set so far: how many stay, or -1. */
static int choose_set(const struct try_request *request, struct trial **set, size_t count,
	struct db *db)
{
	size_t chosen = 1;

	for (size_t i = 1; i < count; i++) {
		set[chosen] = set[i];
		if (try_judge(request, set, chosen + 1, db))
			return -1;
		if (set[chosen]->result == TRIAL_TRIED) {
			chosen++;
			continue;
		}
		print(stdout, "#%lld: not together with ", (long long)set[chosen]->finding);
		print_numbers(set, chosen, stdout);
		print(stdout, ": %s\n",
			set[chosen]->refusal ? set[chosen]->refusal : "its calls are not made");
	}
	return (int)chosen;
}

/*
 * Tries those that are worth it together.  set: room for all, those that held; *count 0: none.  0,
 * or -1 after a message.
 */
static int try_together(const struct try_request *request, struct trials *trials,
	struct trial **set, size_t *count, struct db *db)
{
	struct trial_saving saving;
	int chosen, differs;

	*count = 0;
	for (size_t i = 0; i < trials->count; i++)
		if (is_worth_it(&trials->trial[i]))
			set[(*count)++] = &trials->trial[i];
	if (*count < 2)
		return 0;
	qsort(set, *count, sizeof(struct trial *), compare_savings);
	chosen = choose_set(request, set, *count, db);
	if (chosen < 0)
		return -1;
	*count = (size_t)chosen;
	if (chosen < 2)
		return 0;
	if (try_measure(request, set, *count, &saving, &differs))
		return -1;
	print_numbers(set, *count, stdout);
	print(stdout, " together: %s",
		differs ? "output-differs: the program's output is another one; it " : "tried: ");
	trial_say_saving(&saving, NULL, stdout);
	print(stdout, "\n");
	*count = 0;
	/* Calls that several findings have are one's. */
	for (size_t i = 0; i < (size_t)chosen && !differs; i++)
		if (set[i]->fix.applied || set[i]->fix.treatment == FIX_EAGER)
			set[(*count)++] = set[i];
	return 0;
}

static int keep(const struct try_request *request, struct trial *const *set, size_t count,
	struct db *db)
{
	const char *path = option(request->arguments, "--keep");

	if (!path)
		return 0;
	if (!count) {
		print(stderr, "cufence try: '%s' is not written: no fix saved time\n", path);
		return 0;
	}
	if (trial_keep(path, set, count, db))
		return -1;
	print(stdout, "kept in '%s': ", path);
	print_numbers(set, count, stdout);
	print(stdout, "; to run with %s: cufence fix %s -- %s\n", count == 1 ? "it" : "them", path,
		request->command[0]);
	return 0;
}

static int try_findings(const struct try_request *request, struct db *db, const int64_t *findings,
	size_t count, int *failed)
{
	struct trials trials = { xcalloc(count, sizeof(*trials.trial)), 0 };
	struct trial **set = xcalloc(count, sizeof(*set));
	size_t chosen = 0;
	int rc = 0;

	while (!rc && trials.count < count) {
		struct trial *trial = &trials.trial[trials.count];

		rc = try_finding(request, db, trial, findings[trials.count++]);
		*failed |= trial->result != TRIAL_TRIED;
	}
	rc = rc || try_together(request, &trials, set, &chosen, db) ||
		keep(request, set, chosen, db);
	for (size_t i = 0; i < trials.count; i++)
		trial_release(&trials.trial[i]);
	free(trials.trial);
	free(set);
	return rc ? -1 : 0;
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

static int try_listed(const struct try_request *request, struct db *db, int *failed)
{
	const char *at = request->findings;
	int64_t *findings = NULL;
	size_t count = 0;
	int rc;

	while (at && *at)
		at = read_number(at, array_push(findings, count));
	rc = at ? try_findings(request, db, findings, count, failed) : -1;
	free(findings);
	return rc;
}

/* Those that a report shows and that save time, or lack a fence. */
static int try_all(const struct try_request *request, struct db *db, int *failed)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT id, rule, coalesce(saving, 0) > 0 FROM finding WHERE shown ORDER BY id");
	int64_t *findings = NULL;
	size_t count = 0;
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		if (sqlite3_column_int(q, 2) || trial_adds_order(db_text(q, 1)))
			*array_push(findings, count) = sqlite3_column_int64(q, 0);
		step = 0;
	}
	sqlite3_finalize(q);
	if (!step && count)
		step = try_findings(request, db, findings, count, failed);
	else if (!step)
		print(stdout, "no finding is shown that saves time or lacks a fence\n");
	free(findings);
	return step;
}

/* The operands are the database (optional), the findings unless all are tried, and the command. */
static int read_request(struct try_request *request)
{
	const char *pairs = option(request->arguments, "--repeat");
	char **operand = request->arguments->operand, *end = NULL;
	int all = option(request->arguments, "--all") != NULL, at = 0;

	request->pairs = pairs ? (int)strtol(pairs, &end, 10) : PAIRS;
	if (pairs && (!*pairs || *end || request->pairs < 1 || request->pairs > TRY_MOST_PAIRS)) {
		print(stderr, "cufence try: --repeat wants a number from 1 to %d\n",
			TRY_MOST_PAIRS);
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

static int try_request_run(struct try_request *request, int *failed)
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
	struct try_request request = { .arguments = arguments };
	int failed = 0, rc;

	run_warn_environment();
	if (read_request(&request))
		return EXIT_TROUBLE;
	program_inspect(&request.program, request.command[0]);
	rc = try_request_run(&request, &failed);
	program_release(&request.program);
	return rc ? EXIT_TROUBLE : failed;
}
