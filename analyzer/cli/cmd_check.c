/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "command.h"
#include "forbidden.h"
#include "formats.h"
#include "losses.h"
#include "output.h"
#include "print.h"
#include "report_request.h"
#include "run_columns.h"
#include "summary.h"
#include "suppressions.h"
#include "verdict.h"

#define EXIT_FINDINGS 1

/* Milliseconds, as ns: 0, or -1 after a message. */
static int parse_cost(const char *text, int64_t *ns)
{
	char *end;
	double ms = text ? strtod(text, &end) : 0;

	*ns = DB_NULL;
	if (!text)
		return 0;
	if (end == text || *end || !(ms >= 0 && ms < 1e9)) {
		print(stderr, "cufence check: --max-cost is a time in milliseconds, not '%s'\n",
			text);
		return -1;
	}
	*ns = (int64_t)(ms * 1e6);
	return 0;
}

/* Whether the run can be judged; if not, temp.trouble says why.  -1 after a message. */
static int is_complete(struct db *db, const struct arguments *arguments)
{
	/* Policies are about calls alone. */
	enum loss_effect accepted = option(arguments, "--allow-incomplete") ? LOSS_INCOMPLETE
		: option(arguments, "--forbid")                             ? LOSS_OPERATIONS
									    : LOSS_NOTE;
	const char *trouble = "the trace is incomplete (--allow-incomplete accepts it)";
	int effect;

	if (!db_int(db, "SELECT max(id) FROM call", 0)) {
		if (db->failed)
			return -1;
		print(stderr, "cufence: '%s': nothing was traced; run a program that uses CUDA\n",
			db->path);
		return verdict_add_trouble(db, "trace", "nothing was traced", 1);
	}
	effect = losses_effect(db);
	if (effect < 0)
		return -1;
	if (effect <= (int)accepted)
		return 1;
	if (effect == LOSS_FAILED)
		trouble = "the run failed";
	print(stderr, "cufence: '%s': %s:\n", db->path, trouble);
	report_summary(db, stderr);
	return verdict_add_trouble(db, "trace", trouble, 1);
}

static int write_result(struct db *db, int (*put)(struct db *, FILE *), const char *path)
{
	struct output output = { .file = stdout };
	int rc;

	if (path && output_open(&output, "cufence check", path))
		return -1;
	rc = put(db, output.file);
	if (path && output_close(&output, "cufence check", !rc))
		rc = -1;
	return rc;
}

static int accept(struct db *db, const struct arguments *arguments)
{
	const char *baseline = option(arguments, "--baseline");
	const char *suppressions = option(arguments, "--suppressions");

	return (baseline && baseline_read(db, baseline)) ||
			(suppressions && suppressions_read(db, suppressions))
		? -1
		: 0;
}

static int write_baseline(struct db *db, const char *path)
{
	int64_t count = baseline_write(db, path);

	if (count >= 0)
		print(stderr, "cufence check: wrote '%s': %lld place%s of findings\n", path,
			(long long)count, count == 1 ? "" : "s");
	return count < 0 ? EXIT_TROUBLE : 0;
}

/* The exit status for findings. */
static int check_findings(struct db *db, const struct arguments *arguments,
	const struct format *format, const struct verdict_rules *wanted)
{
	const char *suppressions = option(arguments, "--suppressions");

	if (verdict_of_check(db, wanted) ||
		(suppressions && suppressions_warn(db, suppressions, stderr)))
		return EXIT_TROUBLE;
	if (option(arguments, "--write-baseline"))
		return write_baseline(db, option(arguments, "--write-baseline"));
	if (verdict_merge(db) || write_result(db, format->check, option(arguments, "-o")) ||
		summary_print(db, stderr))
		return EXIT_TROUBLE;
	return db_int(db,
		       "SELECT EXISTS (SELECT 1 FROM temp.verdict WHERE state = 'fails')"
		       " OR EXISTS (SELECT 1 FROM temp.trouble)",
		       1)
		? EXIT_FINDINGS
		: 0;
}

/* The exit status for calls. */
static int check_calls(struct db *db, const struct arguments *arguments,
	const struct format *format)
{
	const struct forbidden_request request = { .policies = option(arguments, "--forbid"),
		.own = option(arguments, "--own"),
		.captured = option(arguments, "--captured") != NULL };
	const char *suppressions = option(arguments, "--suppressions");
	int rc;

	db->run = run_open(db);
	rc = db->run ? forbidden_read(db, &request) : -1;
	run_close(db->run);
	db->run = NULL;
	if (rc || (suppressions && suppressions_warn(db, suppressions, stderr)) ||
		write_result(db, format->calls, option(arguments, "-o")) ||
		forbidden_summary(db, stderr))
		return EXIT_TROUBLE;
	return db_int(db, "SELECT EXISTS (SELECT 1 FROM temp.forbidden)", 1) ? EXIT_FINDINGS : 0;
}

/* The exit status. */
static int check(struct db *db, const struct arguments *arguments, const struct format *format,
	const struct verdict_rules *wanted)
{
	int complete;

	if (verdict_begin(db) || accept(db, arguments))
		return EXIT_TROUBLE;
	complete = is_complete(db, arguments);
	if (complete < 0)
		return EXIT_TROUBLE;
	if (!complete) {
		/* stderr has the reason; formats for programs must hold it, too. */
		if (!format_is_text(format))
			write_result(db, format->check, option(arguments, "-o"));
		return EXIT_TROUBLE;
	}
	return option(arguments, "--forbid") ? check_calls(db, arguments, format)
					     : check_findings(db, arguments, format, wanted);
}

/* Options of one gate mean nothing to the other. */
static int check_gate(const struct arguments *arguments, const struct format *format)
{
	static const char *const of_findings[] = { "--fail-on", "--max-cost", "--baseline",
		"--write-baseline", NULL };
	static const char *const of_calls[] = { "--own", "--captured", NULL };
	const char *forbid = option(arguments, "--forbid");

	for (const char *const *name = forbid ? of_findings : of_calls; *name; name++)
		if (option(arguments, *name)) {
			print(stderr,
				forbid ? "cufence check: --forbid judges calls, not findings: "
					 "leave out %s\n"
				       : "cufence check: %s is for --forbid only\n",
				*name);
			return -1;
		}
	if (forbid && option(arguments, "--own") && !*option(arguments, "--own")) {
		print(stderr,
			"cufence check: --own needs a pattern: without one no code is the "
			"program's own\n");
		return -1;
	}
	if (forbid && !format->calls) {
		print(stderr, "cufence check: with --forbid, --format is text or github\n");
		return -1;
	}
	return forbid ? forbidden_check_list(forbid) : 0;
}

/* With --shake the operands are those before "--", and a command. */
static const char *database_of(const struct arguments *arguments)
{
	return arguments->separator ? database_operand(arguments) : "cufence.db";
}

/* Makes the database if --shake asks for it: 0, or -1 after a message. */
static int check_shaken(const struct arguments *arguments)
{
	int at = arguments->separator < 0 ? arguments->count : arguments->separator;
	const char *shake = option(arguments, "--shake");

	if (at > 1) {
		print(stderr, "cufence check: one database, not '%s', too\n",
			arguments->operand[1]);
		return -1;
	}
	if (!shake && at == arguments->count && !option(arguments, "--sim"))
		return 0;
	if (shake && at < arguments->count)
		return shake_for_check(arguments, database_of(arguments), arguments->operand + at);
	fputs(shake ? "cufence check: --shake needs the command to run: add -- CMD...\n"
		    : "cufence check: a command and --sim are for --shake only\n",
		stderr);
	return -1;
}

/* An output must not overwrite the database. */
static int check_outputs(const struct arguments *arguments)
{
	static const char *const outputs[] = { "-o", "--write-baseline" };

	for (int i = 0; i < 2; i++) {
		const char *path = option(arguments, outputs[i]);

		if (path && is_same_file(path, database_of(arguments))) {
			print(stderr, "cufence check: '%s' is the database: name another file\n",
				path);
			return -1;
		}
	}
	return 0;
}

int cmd_check(const struct arguments *arguments)
{
	const char *list = option(arguments, "--fail-on");
	const struct format *format =
		format_find("check", option(arguments, "--format"), option(arguments, "-o"));
	struct verdict_rules wanted = { .list = list ? list : "medium",
		.fences = list ? list : "high",
		.reads = list ? list : "none" };
	struct db db;
	int status;

	if (!format || check_gate(arguments, format) || verdict_check_list(wanted.list) ||
		check_outputs(arguments) ||
		parse_cost(option(arguments, "--max-cost"), &wanted.most) ||
		check_shaken(arguments) ||
		db_open(&db, database_of(arguments),
			option(arguments, "--forbid") ? DB_FOLLOW : DB_READ))
		return EXIT_TROUBLE;
	status = disclose(&db, request_disclosure(arguments))
		? EXIT_TROUBLE
		: check(&db, arguments, format, &wanted);
	if (db.failed)
		status = EXIT_TROUBLE;
	db_close(&db);
	return status;
}
