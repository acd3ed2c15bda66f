/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufence confirm: provokes a race.  It runs the program again and holds the earlier operation
 * back.  A later operation that overtakes it shows that nothing orders the two; the record of that
 * run shows whether they access the same bytes.  If it does not overtake, the program's output is
 * compared with the output of a run without the hold.
 */
#include <ctype.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "command.h"
#include "confirmation.h"
#include "print.h"
#include "rerun.h"
#include "run_settings.h"

/* The most hardware queues that streams can have (CUDA_DEVICE_MAX_CONNECTIONS). */
#define CONNECTIONS "CUDA_DEVICE_MAX_CONNECTIONS"
#define MOST_CONNECTIONS "32"

struct request {
	const struct arguments *arguments;
	const char *database;
	char **command;
	struct pair pair;
	struct program program;
	struct confirmation result;
};

static int is_simulated(const struct request *request)
{
	return option(request->arguments, "--sim") || request->pair.simulated;
}

/* settings: added to the recorder's environment.  0, or -1 after a message. */
static int run_again(struct request *request, struct rerun *rerun, int hold,
	const struct run_setting *settings)
{
	const struct rerun_request again = { .command = request->command,
		.sanitizer = request->program.sanitizer,
		.simulated = is_simulated(request),
		.guarded = request->pair.is_host,
		.library = hold ? "libcufence-hold.so" : NULL,
		.needs = "\"confirm\"",
		.output = option(request->arguments, "--output"),
		.setting = settings };

	return rerun_program(rerun, &again);
}

static int judge_held(struct request *request, struct rerun *rerun, const struct hold_plan *plan)
{
	struct db db;
	int held = confirmation_was_held(plan), rc;

	if (held && rerun_load(rerun, &db, DB_OWN))
		return -1;
	confirmation_release(&request->result);
	rc = confirmation_of_plan(&request->result, &request->pair, plan, held ? &db : NULL);
	if (held)
		db_close(&db);
	return rc;
}

/* Runs the program with the producer held back; wrote: the hash of its output. */
static int run_held(struct request *request, const char *connections, uint64_t *wrote)
{
	struct rerun rerun;
	struct hold_plan *plan = NULL;
	int rc = rerun_open(&rerun, request->database);
	struct run_setting settings[] = { { "CUFENCE_HOLD", rerun.plan },
		{ "CUFENCE_MODE", "host" },
		{ "CUFENCE_GUARD_HOST", request->pair.is_host ? "1" : NULL },
		{ CONNECTIONS, connections }, { 0 } };

	if (!rc)
		plan = rerun_plan(&rerun, &request->pair.plan, sizeof(*plan));
	rc = !plan || run_again(request, &rerun, 1, settings);
	*wrote = rerun.wrote;
	rc = rc || judge_held(request, &rerun, plan);
	if (plan)
		munmap(plan, sizeof(*plan));
	rerun_close(&rerun);
	return rc ? -1 : 0;
}

static int run_free(struct request *request, const char *connections, uint64_t *wrote)
{
	struct rerun rerun;
	struct run_setting settings[] = { { "CUFENCE_MODE", "host" }, { CONNECTIONS, connections },
		{ 0 } };
	int rc = rerun_open(&rerun, request->database) || run_again(request, &rerun, 0, settings);

	*wrote = rerun.wrote;
	rerun_close(&rerun);
	return rc ? -1 : 0;
}

/* Runs the program without the hold: twice if the first output differs from the held one. */
static int compare_outputs(struct request *request, const char *connections, uint64_t held)
{
	uint64_t one, other;

	if (run_free(request, connections, &one))
		return -1;
	other = one;
	if (one != held && run_free(request, connections, &other))
		return -1;
	return confirmation_add_output(&request->result, &request->pair,
		one != other ? -1 : one != held);
}

/* Streams that share a hardware queue wait for each other, so a second try has more queues. */
static int hold_back(struct request *request)
{
	const char *connections = NULL;
	uint64_t wrote;

	if (run_held(request, NULL, &wrote))
		return -1;
	if (request->result.verdict == CONFIRMED_NOT && !getenv(CONNECTIONS)) {
		connections = MOST_CONNECTIONS;
		if (run_held(request, connections, &wrote) ||
			confirmation_add_queues(&request->result, &request->pair, connections))
			return -1;
	}
	if (request->result.verdict == CONFIRMED_NOT)
		return compare_outputs(request, connections, wrote);
	return 0;
}

/* For operations that cannot be held back: compares the times of a recorded run. */
static int watch(struct request *request)
{
	struct run_setting settings[] = { { "CUFENCE_MODE", "full" },
		{ "CUFENCE_GRAPHS", request->pair.launch ? "node" : NULL }, { 0 } };
	struct rerun rerun;
	struct db db;
	int rc = rerun_open(&rerun, request->database) || run_again(request, &rerun, 0, settings) ||
		rerun_load(&rerun, &db, DB_OWN);

	if (!rc) {
		rc = confirmation_of_run(&request->result, &request->pair, &db);
		db_close(&db);
	}
	rerun_close(&rerun);
	return rc ? -1 : 0;
}

static int try_it(struct request *request)
{
	const struct pair *pair = &request->pair;

	if (pair->obstacle)
		return confirmation_refuse(&request->result, pair->obstacle);
	if (request->program.obstacle)
		return confirmation_refuse(&request->result, request->program.obstacle);
	return pair->method == PAIR_HOLD ? hold_back(request) : watch(request);
}

/* How many places have each verdict. */
struct answers {
	int count[NOT_APPLICABLE + 1];
};

static enum confirmed surest(const struct answers *answers)
{
	enum confirmed verdict = CONFIRMED;

	while (verdict < NOT_APPLICABLE && !answers->count[verdict])
		verdict++;
	return verdict;
}

/* Tries one pair; stores and prints its answer at once, as the next pair may take long. */
static int try_pair(struct request *request, struct db *db, struct answers *answers)
{
	int rc = try_it(request);

	if (!rc && request->pair.fingerprint)
		rc = confirmation_store(&request->result, &request->pair, db);
	if (!rc) {
		confirmation_print(&request->result, stdout);
		fflush(stdout);
		answers->count[request->result.verdict]++;
	}
	pair_release(&request->pair);
	confirmation_release(&request->result);
	return rc;
}

static int try_places(struct request *request, struct db *db, int64_t finding,
	struct answers *answers)
{
	int64_t *places;
	int count = pair_places(db, finding, &places), rc = count < 0;

	for (int i = 0; i < count && !rc; i++) {
		rc = pair_of_place(&request->pair, db, places[i]);
		if (rc)
			pair_release(&request->pair);
		else if (count > 1)
			print(stdout, "place %d of %d, %s: ", i + 1, count, request->pair.place);
		fflush(stdout);
		rc = rc || try_pair(request, db, answers);
	}
	free(places);
	if (!rc && count > 1)
		confirmation_print_places(surest(answers), answers->count[surest(answers)], count,
			stdout);
	return rc ? -1 : 0;
}

/* --- the request --- */

static int read_number(const char *text, int64_t *number)
{
	char *end;

	text += *text == '#';
	*number = strtoll(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && *number > 0 ? 0 : -1;
}

/* The operands are the database (optional), one number or two, and the command. */
static int read_request(struct request *request, int64_t number[2])
{
	int pair = option(request->arguments, "--pair") != NULL, at;
	char **operand = request->arguments->operand;

	at = read_number(operand[0], &number[0]) != 0;
	request->database = at ? operand[0] : "cufence.db";
	for (int i = 0; i <= pair; i++)
		if (!operand[at] || read_number(operand[at++], &number[i])) {
			print(stderr,
				"cufence confirm: give the number of a finding, or --pair and two "
				"ids of table operation, before the command\n");
			return -1;
		}
	request->command = operand + at;
	if (*request->command)
		return 0;
	print(stderr, "cufence confirm: the command to run is missing: add -- CMD...\n");
	return -1;
}

static int try_operations(struct request *request, struct db *db, const int64_t number[2],
	struct answers *answers)
{
	if (!pair_of_operations(&request->pair, db, number[0], number[1]))
		return try_pair(request, db, answers);
	pair_release(&request->pair);
	return -1;
}

static int confirm(struct request *request, const int64_t number[2], struct answers *answers)
{
	struct db db;
	int rc;

	if (db_open(&db, request->database, DB_WRITE))
		return -1;
	program_inspect(&request->program, request->command[0]);
	rc = option(request->arguments, "--pair") ? try_operations(request, &db, number, answers)
						  : try_places(request, &db, number[0], answers);
	db_close(&db);
	return rc;
}

int cmd_confirm(const struct arguments *arguments)
{
	struct request request = { .arguments = arguments };
	struct answers answers = { 0 };
	int64_t number[2];
	int rc;

	run_warn_environment();
	if (read_request(&request, number))
		return EXIT_TROUBLE;
	rc = confirm(&request, number, &answers);
	program_release(&request.program);
	if (rc)
		return EXIT_TROUBLE;
	switch (surest(&answers)) {
	case CONFIRMED:
		return 0;
	case NOT_APPLICABLE:
		return EXIT_TROUBLE;
	default:
		return 1;
	}
}
