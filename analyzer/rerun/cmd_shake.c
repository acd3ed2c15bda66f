/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufence shake: what nothing orders may be in order by luck in one run.  The program runs several
 * times with streams held back and queries answered "not ready" at random.
 */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "print.h"
#include "run_settings.h"
#include "settings.h"
#include "shake.h"
#include "store.h"

enum { RUNS = 10, RUNS_MOST = 1000 };

static void print_run(const struct shake *shake, const struct shaken *run, FILE *out)
{
	unsigned holds = 0, answers = 0;

	for (uint32_t i = 0; i < run->plan.actions; i++) {
		const struct shake_action *action = &run->plan.action[i];

		holds += action->state == HOLD_HELD && !action->answers;
		answers += action->given;
	}
	print(out, "seed %llu: %.1f ms; streams held %u times, %.1f ms in all; ",
		(unsigned long long)run->seed, (double)run->ns / 1e6, holds,
		(double)run->plan.spent / 1e6);
	print(out, "queries not ready %u times", answers);
	if (run->is_ended)
		fputs("; it took too long and was ended", out);
	else if (run->is_wrong)
		fputs(shake->request->check ? "; the output is wrong"
					    : "; its output is another one",
			out);
	for (size_t i = 0; run->is_wrong && i < run->shows; i++)
		print(out, "%s %s", i ? "," : ", with the race at",
			shake->race[run->shown[i]].place);
	fputc('\n', out);
}

static void print_race(const struct shake *shake, const struct shake_race *race, FILE *out)
{
	print(out, "%s: %s  [%s]\n    at   %s\n", race->rule, race->message, race->level,
		race->place);
	if (race->is_plain) {
		print(out, "    seen in the plain run, and in %u of %zu shaken runs\n", race->runs,
			shake->runs);
	} else {
		char *text = shake_needs_text(shake, race);

		print(out, "    seen %s\n", text);
		free(text);
	}
}

void shake_print(const struct shake *shake, FILE *out)
{
	print(out, "plain run: %.1f ms\n", (double)shake->plain_ns / 1e6);
	for (size_t i = 0; i < shake->runs; i++)
		print_run(shake, &shake->run[i], out);
	for (size_t i = 0; i < shake->races; i++)
		print_race(shake, &shake->race[i], out);
	if (!shake->races)
		print(out, "no races in %zu shaken runs\n", shake->runs);
}

/* Whether an output failed --check. */
static int is_wrong(const struct shake *shake)
{
	for (size_t i = 0; shake->request->check && i < shake->runs; i++)
		if (shake->run[i].is_wrong)
			return 1;
	return 0;
}

static int read_number(const struct arguments *arguments, const char *name, uint64_t most,
	uint64_t *number)
{
	const char *text = option(arguments, name);

	if (!text || (setting_number(text, number) && *number && *number <= most))
		return 0;
	print(stderr, "cufence %s: %s is a number from 1 to %llu, not '%s'\n",
		arguments->command->name, name, (unsigned long long)most, text);
	return -1;
}

int cmd_shake(const struct arguments *arguments)
{
	const char *database = option(arguments, "-o");
	struct shake_request request = { .command = arguments->operand,
		.database = database ? database : "cufence.db",
		.check = option(arguments, "--check"),
		.simulated = option(arguments, "--sim") != NULL,
		.guard = option(arguments, "--guard-host") != NULL,
		.seed = 1 };
	uint64_t runs = RUNS;
	struct shake shake;
	int status = EXIT_TROUBLE;

	run_warn_environment();
	if (read_number(arguments, "--runs", RUNS_MOST, &runs) ||
		read_number(arguments, "--seed", INT64_MAX, &request.seed) ||
		store_check(request.database))
		return EXIT_TROUBLE;
	request.runs = (uint32_t)runs;
	if (!shake_make(&shake, &request)) {
		shake_print(&shake, stdout);
		print(stderr, "cufence: wrote %s\n", request.database);
		status = shake.races || is_wrong(&shake);
	}
	shake_release(&shake);
	return status;
}

int shake_for_check(const struct arguments *arguments, const char *database, char **command)
{
	struct shake_request request = { .command = command,
		.database = database,
		.simulated = option(arguments, "--sim") != NULL,
		.seed = 1 };
	uint64_t runs = 0;
	struct shake shake;
	int rc;

	run_warn_environment();
	if (read_number(arguments, "--shake", RUNS_MOST, &runs) || store_check(database))
		return -1;
	request.runs = (uint32_t)runs;
	rc = shake_make(&shake, &request);
	shake_release(&shake);
	return rc;
}
