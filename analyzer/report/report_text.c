/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "losses.h"
#include "report_finding.h"
#include "report_parts.h"
#include "report_possible.h"
#include "print.h"
#include "shell.h"

int report_together(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT r.saving, r.saving_low, r.saving_high, r.share, r.turn_saving, "
		"r.refusal, "
		"(SELECT count(*) FROM finding WHERE shown AND waited + delayed > 0 "
		" AND process = p.id) AS shown, "
		"CASE WHEN (SELECT count(*) FROM process) > 1 "
		" THEN printf(' [pid %d]', p.pid) ELSE '' END, "
		"(SELECT count(*) FROM finding f JOIN finding_place o ON o.finding = f.id "
		" WHERE f.process = p.id AND f.shown AND f.saving_low NOT NULL AND o.shown "
		" AND o.saving IS NULL) "
		"FROM replay r JOIN process p ON p.id = r.process WHERE shown ORDER BY p.id");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const char *refusal = (const char *)sqlite3_column_text(q, 5);
		const char *process = (const char *)sqlite3_column_text(q, 7);
		int64_t left_out = sqlite3_column_int64(q, 8);

		if (sqlite3_column_int64(q, 6) > 1) {
			fputs("\nall findings together: ", out);
			report_print_saving(q, 0, out);
			print(out, "%s\n", process);
		}
		if (left_out)
			print(out,
				"\nwhat %lld line%s by %s was not computed: replays of so long a "
				"run take too much time%s\n",
				(long long)left_out, left_out == 1 ? " saves" : "s save",
				left_out == 1 ? "itself" : "themselves", process);
		if (refusal)
			print(out, "\nno closer estimate of what would be saved: %s%s\n", refusal,
				process);
	}
	sqlite3_finalize(q);
	return step;
}

static int64_t count_findings(struct db *db, enum report_level level)
{
	char *sql =
		sqlite3_mprintf("SELECT count(*) FROM finding f WHERE %s", report_condition(level));
	int64_t count = sql ? db_int(db, sql, 0) : 0;

	sqlite3_free(sql);
	return count;
}

/* Prints the command for another report of this database, with the given choice. */
static int print_command(struct db *db, const struct report_options *options, const char *choice,
	FILE *out)
{
	static const char *const levels[] = { [REPORT_LIKELY] = "",
		[REPORT_CERTAIN] = "certain",
		[REPORT_POSSIBLE] = "possible" };
	char *name = shell_word(db->path);

	if (!name)
		return -1;
	print(out, "cufence report %s", choice);
	if (options->level != REPORT_LIKELY)
		print(out, " --level %s", levels[options->level]);
	if (strncmp(choice, "--top", 5) && options->top != REPORT_TOP)
		print(out, " --top %d", options->top);
	print(out, " %s\n", name);
	free(name);
	return 0;
}

static int print_possible(struct db *db, FILE *out)
{
	struct report_possible possible;
	char *line = report_possible(db, "1", 1, &possible);

	if (line && *line)
		print(out, "\n%s\n", line);
	free(line);
	return line ? 0 : -1;
}

static int print_hidden(struct db *db, const struct report_options *options, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int64_t hidden = memory ? report_hidden(db, options->level, memory) : -1;

	if (!memory || fclose(memory)) {
		fputs("cufence: out of memory\n", stderr);
		hidden = -1;
	}
	if (hidden > 0)
		print(out, "\n%s: ", text);
	free(text);
	return hidden <= 0
		? (int)hidden
		: print_command(db, &(struct report_options){ .top = REPORT_TOP }, "--all", out);
}

/* What was looked at, for whoever does not know what else there might be. */
static void print_nothing(struct db *db, FILE *out)
{
	static const char *const but[] = { [LOSS_OPERATIONS] = ", but the trace is incomplete",
		[LOSS_INCOMPLETE] = ", but the trace is incomplete",
		[LOSS_FAILED] = ", but the run failed" };
	int effect = losses_effect(db);
	int64_t operations = db_int(db, "SELECT sum(operations) FROM stream_use", 0);
	int64_t streams = db_int(db, "SELECT count(DISTINCT stream) FROM stream_use", 0);
	int64_t waits = db_int(db, "SELECT sum(count) FROM wait_use", 0);

	if (effect != LOSS_NOTE) {
		print(out, "\nno findings%s\n", but[effect < 0 ? LOSS_INCOMPLETE : effect]);
		return;
	}
	print(out, "\nno findings in %lld calls",
		(long long)db_int(db, "SELECT sum(calls) FROM thread_use", 0));
	if (operations)
		print(out, ", %lld operation%s on %lld stream%s", (long long)operations,
			operations == 1 ? "" : "s", (long long)streams, streams == 1 ? "" : "s");
	if (waits)
		print(out, ", %lld wait%s", (long long)waits, waits == 1 ? "" : "s");
	fputs("; what was looked for: cufence help rules\n", out);
}

static int print_rest(struct db *db, const struct report_options *options, int64_t printed,
	FILE *out)
{
	int64_t chosen = count_findings(db, options->level);

	if (!printed && options->filter)
		fputs("\nno findings\n", out);
	else if (!printed)
		print_nothing(db, out);
	if (printed) {
		struct report_options one = { .top = REPORT_TOP };

		fputs("\none finding with its timeline: ", out);
		if (print_command(db, &one, "--finding NUMBER", out))
			return -1;
	}
	if (chosen > printed) {
		char top[40];

		snprintf(top, sizeof(top), "--top %lld", (long long)chosen);
		print(out, "\n%lld more: ", (long long)(chosen - printed));
		if (print_command(db, options, top, out))
			return -1;
	}
	if (options->level == REPORT_POSSIBLE)
		return 0;
	return print_possible(db, out) || print_hidden(db, options, out) ? -1 : 0;
}

static int print_report(struct db *db, const struct report_options *options, FILE *out)
{
	int64_t printed;

	if (report_summary(db, out))
		return -1;
	if (options->filter)
		print(out, "\n%s\n", options->filter);
	printed = report_print_findings(db, options, out);
	if (options->finding && !printed)
		print(stderr, "cufence: there is no finding %lld (see \"cufence report --all\")\n",
			(long long)options->finding);
	if (options->finding || printed < 0)
		return printed > 0 ? 0 : -1;
	if (report_together(db, out))
		return -1;
	if (!db_int(db, "SELECT max(id) FROM call", 0))
		return 0;
	return print_rest(db, options, printed, out);
}

int report_text(struct db *db, const struct report_options *options, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int rc = memory ? print_report(db, options, memory) : -1;

	if (!memory || fclose(memory)) {
		fputs("cufence: out of memory\n", stderr);
		rc = -1;
	}
	if (text)
		report_wrap(text, options->width, out);
	free(text);
	return rc;
}
