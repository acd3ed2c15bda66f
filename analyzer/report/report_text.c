/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "losses.h"
#include "report_finding.h"
#include "report_internal.h"
#include "report_possible.h"
#include "print.h"
#include "shell.h"

/*
 * Processes: how many findings they have that cost time, and how many lines of these whose own
 * saving was not computed.
 */
#define SAVING_PROCESS \
	"(SELECT r.*, p.pid, (SELECT count(*) FROM process) > 1 AS several," \
	" (SELECT count(*) FROM main.finding f WHERE f.shown AND f.waited + f.delayed > 0" \
	"  AND f.process = p.id) AS findings, (SELECT count(*) FROM main.finding f" \
	"  JOIN main.finding_place o ON o.finding = f.id WHERE f.process = p.id AND f.shown" \
	"  AND f.saving_low NOT NULL AND o.shown AND o.saving IS NULL) AS left_out" \
	" FROM replay r JOIN process p ON p.id = r.process)"

/* " [pid 17]" or " [4 processes]" of a group of them, in a run of several. */
#define OF_PROCESSES \
	"iif(max(several), ' [' || iif(count(*) > 1, count(*) || ' processes'," \
	" 'pid ' || min(pid)) || ']', '')"

/* What a run of several processes would save is not the sum: the most is printed. */
static const char together_sql[] =
	"SELECT saving, saving_low, saving_high, share, turn_saving, iif(several, ' [pid ' || pid"
	"  || iif(count(*) OVER () > 1, ', the most of ' || count(*) OVER () || ' processes', '')"
	"  || ']', '') FROM " SAVING_PROCESS
	" WHERE findings > 1 ORDER BY saving DESC, process LIMIT 1";

static const char left_out_sql[] = "SELECT sum(left_out), " OF_PROCESSES " FROM " SAVING_PROCESS
				   " WHERE findings AND left_out HAVING count(*) > 0";

static const char refusals_sql[] = "SELECT refusal, " OF_PROCESSES " FROM " SAVING_PROCESS
				   " WHERE findings AND refusal NOT NULL GROUP BY refusal"
				   " ORDER BY min(process)";

static void print_together(sqlite3_stmt *row, FILE *out)
{
	fputs("\nall findings together: ", out);
	report_print_saving(row, 0, out);
	print(out, "%s\n", db_text(row, 5));
}

static void print_left_out(sqlite3_stmt *row, FILE *out)
{
	int64_t count = sqlite3_column_int64(row, 0);

	print(out,
		"\nwhat %lld line%s by %s was not computed: replays of so long a run take too much "
		"time%s\n",
		(long long)count, count == 1 ? " saves" : "s save",
		count == 1 ? "itself" : "themselves", db_text(row, 1));
}

static void print_refusal(sqlite3_stmt *row, FILE *out)
{
	print(out, "\nno closer estimate of what would be saved: %s%s\n", db_text(row, 0),
		db_text(row, 1));
}

int report_together(struct db *db, FILE *out)
{
	static const struct {
		const char *sql;
		void (*print)(sqlite3_stmt *row, FILE *out);
	} lines[] = {
		{ together_sql, print_together },
		{ refusals_sql, print_refusal },
		{ left_out_sql, print_left_out },
	};
	int step = 0;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines) && !step; i++) {
		sqlite3_stmt *q = db_prepare(db, lines[i].sql);

		step = -1;
		while (q && (step = db_step(q)) > 0)
			lines[i].print(q, out);
		sqlite3_finalize(q);
	}
	return step;
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
	enum report_level level = options->level;
	char *sql =
		sqlite3_mprintf("SELECT count(*) FROM finding f WHERE %s", report_condition(level));
	int64_t count = sql ? db_int(db, sql, 0) : 0;

	sqlite3_free(sql);
	int64_t chosen = count;

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
