/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "format.h"
#include "report_facts.h"
#include "report_internal.h"
#include "print.h"

/* Singular and plural names of the kinds of operations, streams and waits in the database. */
static const struct {
	const char *kind, *one, *many;
} kinds[] = {
	{ "kernel", "kernel", "kernels" },
	{ "memcpy", "copy", "copies" },
	{ "memset", "memset", "memsets" },
	{ "peer", "copy between devices", "copies between devices" },
	{ "graph", "graph", "graphs" },
	{ "legacy", "legacy default", "legacy default" },
	{ "per-thread", "per-thread default", "per-thread default" },
	{ "explicit", "explicit wait", "explicit waits" },
	{ "implicit", "implicit wait", "implicit waits" },
	{ "internal", "wait within the driver", "waits within the driver" },
	{ "behind", "wait behind another thread", "waits behind other threads" },
	{ "queue", "wait for a full launch queue", "waits for a full launch queue" },
	{ "staged", "copy through a staging buffer", "copies through a staging buffer" },
	{ "polling", "loop of queries", "loops of queries" },
};

static const char *kind_name(const char *kind, int64_t count)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i].kind))
			return count == 1 ? kinds[i].one : kinds[i].many;
	return kind;
}

/* "3 kernels, 1 copy" of a fact's kinds and counts. */
static int print_counts(struct db *db, enum report_fact fact, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, fact);
	const char *separator = "";
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t count = sqlite3_column_int64(q, 1);

		print(out, "%s%lld %s", separator, (long long)count,
			kind_name(db_text(q, 0), count));
		separator = ", ";
	}
	sqlite3_finalize(q);
	return step;
}

static void print_run(const int64_t run[], FILE *out)
{
	char whole[DURATION_SIZE], inside[DURATION_SIZE];

	print(out, "    run      %s, %lld process%s, %lld thread%s, %s in %lld CUDA call%s\n",
		format_duration(whole, run[RUN_DURATION]), (long long)run[RUN_PROCESSES],
		run[RUN_PROCESSES] == 1 ? "" : "es", (long long)run[RUN_THREADS],
		run[RUN_THREADS] == 1 ? "" : "s", format_duration(inside, run[RUN_INSIDE]),
		(long long)run[RUN_CALLS], run[RUN_CALLS] == 1 ? "" : "s");
}

/* Startup has no work to wait for, so percentages exclude it. */
static void print_start(const int64_t run[], FILE *out)
{
	char start[DURATION_SIZE];

	if (run[RUN_START] > run[RUN_DURATION] / STARTUP_PART)
		print(out, "    start    %s until the first work; percentages exclude it\n",
			format_duration(start, run[RUN_START]));
}

/*
 * Prints which part of the run was recorded and what limited it, or for a whole run its startup.
 * Either line says what percentages refer to.
 */
static int print_recording(struct db *db, const int64_t run[], FILE *out)
{
	char inside[DURATION_SIZE], whole[DURATION_SIZE], turns[48] = "";
	sqlite3_stmt *q = report_fact(db, FACT_RECORDING);
	int step = q ? db_step(q) : -1;

	if (!step)
		print_start(run, out);
	if (step > 0) {
		long long windows = sqlite3_column_int64(q, 0);
		long long of_turns = db_int(db,
			"SELECT sum(CAST(value AS INTEGER)) FROM property WHERE name ="
			" 'turn_windows'",
			0);

		if (of_turns)
			snprintf(turns, sizeof(turns), ", %lld of them whole turns", of_turns);
		print(out,
			"    recorded %s of %s, in %lld window%s (by %s%s); percentages are of "
			"that, from the first work on\n",
			format_duration(inside, sqlite3_column_int64(q, 1)),
			format_duration(whole, sqlite3_column_int64(q, 2)), windows,
			windows == 1 ? "" : "s", (const char *)sqlite3_column_text(q, 3), turns);
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* The columns of FACT_DEVICES. */
enum {
	DEVICE_PROCESS_ID,
	DEVICE_PID,
	DEVICE_ORDINAL,
	DEVICE_NAME,
	DEVICE_SIMULATED,
	DEVICE_BUSY,
	DEVICE_OVERLAPPED,
	DEVICE_PROCESS,
	DEVICE_SINCE_FIRST,
	DEVICE_USED
};

/* How long a device was busy, and how much of that with more than one operation at a time. */
static void print_busy(struct db *db, sqlite3_stmt *q, FILE *out)
{
	char used[DURATION_SIZE], share[DURATION_SIZE], both[DURATION_SIZE], part[DURATION_SIZE];
	int64_t busy = sqlite3_column_int64(q, DEVICE_BUSY);
	int64_t overlapped = sqlite3_column_int64(q, DEVICE_OVERLAPPED);
	int64_t whole = sqlite3_column_int64(q, DEVICE_SINCE_FIRST);

	print(out, "busy %s, %s of the time since its first work", format_duration(used, busy),
		format_share(share, whole > 0 ? (double)busy / (double)whole : 0));
	if (overlapped)
		print(out, "; %s of it overlapped (%s)", format_duration(both, overlapped),
			format_share(part, (double)overlapped / (double)busy));
	if (report_has_untimed_graphs(db, sqlite3_column_int64(q, DEVICE_PROCESS_ID)))
		fputs(", without graphs, which were not timed", out);
}

static void print_device_name(sqlite3_stmt *q, FILE *out)
{
	const char *name = (const char *)sqlite3_column_text(q, DEVICE_NAME);
	int simulated = name && sqlite3_column_int(q, DEVICE_SIMULATED);

	print(out, "    device   %s%s", name ? name : "?",
		simulated && !strcasestr(name, "simulated") ? " (simulated)" : "");
}

/* Prints the device's name (equal names once), or a line for each of several used devices. */
static int print_devices(struct db *db, int64_t used, FILE *out)
{
	enum { MOST = 16 }; /* the rest is counted */
	sqlite3_stmt *q = report_fact(db, FACT_DEVICES);
	char *last = NULL;
	int printed = 0, step = -1;

	while (q && (step = db_step(q)) > 0 && printed < MOST) {
		const char *name = (const char *)sqlite3_column_text(q, DEVICE_NAME);

		if (used > 1 ? !sqlite3_column_int(q, DEVICE_USED)
			     : !name || (last && !strcmp(name, last)))
			continue;
		print_device_name(q, out);
		if (used > 1) {
			print(out, ", device %d, pid %d: ", sqlite3_column_int(q, DEVICE_ORDINAL),
				sqlite3_column_int(q, DEVICE_PID));
			print_busy(db, q, out);
		} else if (sqlite3_column_int(q, DEVICE_SIMULATED)) {
			fputs(": kernels compute nothing, times are modelled", out);
		}
		fputc('\n', out);
		printed++;
		free(last);
		last = name ? strdup(name) : NULL;
	}
	free(last);
	sqlite3_finalize(q);
	if (step >= 0 && used > MOST)
		print(out, "    device   and %lld more\n", (long long)used - MOST);
	return step < 0 ? -1 : 0;
}

/* How long the one device that did work was busy. */
static int print_busy_device(struct db *db, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_DEVICES);
	int step = -1;

	while (q && (step = db_step(q)) > 0 && !sqlite3_column_int(q, DEVICE_USED))
		;
	if (step > 0) {
		fputs("; device ", out);
		print_busy(db, q, out);
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

static int print_work(struct db *db, const int64_t run[], FILE *out)
{
	if (!db_int(db, "SELECT count(*) FROM stream_use", 0))
		return 0;
	fputs("    work     ", out);
	if (print_counts(db, FACT_OPERATIONS, out) ||
		(run[RUN_DEVICES_USED] == 1 && run[RUN_PROCESSES] == 1 &&
			print_busy_device(db, out)))
		return -1;
	fputc('\n', out);
	return 0;
}

static int print_streams(struct db *db, const int64_t run[], FILE *out)
{
	if (!run[RUN_STREAMS])
		return 0;
	fputs("    streams  ", out);
	if (print_counts(db, FACT_STREAMS, out))
		return -1;
	if (run[RUN_STREAMS_USED] && run[RUN_STREAMS_USED] < run[RUN_STREAMS])
		print(out, "; work on %lld of them", (long long)run[RUN_STREAMS_USED]);
	fputc('\n', out);
	return 0;
}

static int print_waits(struct db *db, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_WAITS);
	const char *separator = "    waits    ";
	char waited[DURATION_SIZE];
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		long long count = sqlite3_column_int64(q, 1);

		print(out, "%s%s in %lld %s", separator,
			format_duration(waited, sqlite3_column_int64(q, 2)), count,
			kind_name(db_text(q, 0), count));
		separator = ", ";
	}
	sqlite3_finalize(q);
	if (*separator == ',')
		fputc('\n', out);
	return step;
}

/* The numbers of a fact that is one row: 0, or -1 after a message. */
static int read_numbers(struct db *db, enum report_fact fact, int64_t number[], int count)
{
	sqlite3_stmt *q = report_fact(db, fact);
	int step = q ? db_step(q) : -1;

	for (int i = 0; i < count; i++)
		number[i] = step > 0 ? sqlite3_column_int64(q, i) : 0;
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* How many operations and calls were matched; a missing device side is a loss, printed below. */
static int print_coverage(struct db *db, FILE *out)
{
	int64_t known[COVERAGE_PARAMETERS + 1];

	if (read_numbers(db, FACT_COVERAGE, known, COVERAGE_PARAMETERS + 1))
		return -1;
	fputs("    coverage ", out);
	if (known[COVERAGE_OPERATIONS])
		print(out, "%lld of %lld operations matched to a call, ",
			(long long)known[COVERAGE_MATCHED], (long long)known[COVERAGE_OPERATIONS]);
	print(out, "call sites of %lld of %lld calls", (long long)known[COVERAGE_PLACED],
		(long long)known[COVERAGE_CALLS]);
	if (known[COVERAGE_KERNELS])
		print(out, ", parameters of %lld of %lld kernels",
			(long long)known[COVERAGE_PARAMETERS], (long long)known[COVERAGE_KERNELS]);
	fputc('\n', out);
	return 0;
}

/* The most kernels with unknown accesses that the summary names. */
/* Kernels named; the rest is counted. */
#define MOST_UNSEEN 3

static int print_unseen(struct db *db, int64_t kernels, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_UNSEEN);
	const char *separator = "; incomplete for ";
	int step = q ? 1 : -1;

	for (int i = 0; i < MOST_UNSEEN && step > 0 && (step = db_step(q)) > 0; i++) {
		const char *why = (const char *)sqlite3_column_text(q, 2);

		print(out, "%s'%s' (%lld%s%s)", separator, (const char *)sqlite3_column_text(q, 0),
			(long long)sqlite3_column_int64(q, 1), why ? ": " : "", why ? why : "");
		separator = ", ";
	}
	sqlite3_finalize(q);
	if (step >= 0 && kernels > MOST_UNSEEN)
		print(out, " and %lld more kernels", (long long)kernels - MOST_UNSEEN);
	return step < 0 ? -1 : 0;
}

/* For how many launches missing fences can be found. */
static int print_accesses(struct db *db, FILE *out)
{
	int64_t known[ACCESSES_INCOMPLETE + 1];

	if (read_numbers(db, FACT_ACCESSES, known, ACCESSES_INCOMPLETE + 1))
		return -1;
	if (!known[ACCESSES_LAUNCHES])
		return 0;
	print(out, "    accesses complete for %lld of %lld launches",
		(long long)known[ACCESSES_COMPLETE], (long long)known[ACCESSES_LAUNCHES]);
	if (known[ACCESSES_INCOMPLETE] && print_unseen(db, known[ACCESSES_INCOMPLETE], out))
		return -1;
	fputc('\n', out);
	return 0;
}

/* Memory shared with other processes or APIs: their accesses are not recorded. */
static int print_shared(struct db *db, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_SHARED);
	const char *before = "    shared   memory with others, by ";
	int step = q ? 1 : -1, any = 0;

	for (; step > 0 && (step = db_step(q)) > 0; any = 1, before = ", ")
		print(out, "%s%s (%lld)", before, (const char *)sqlite3_column_text(q, 0),
			(long long)sqlite3_column_int64(q, 1));
	sqlite3_finalize(q);
	if (any)
		fputs(": what they do with it is not recorded\n", out);
	return step;
}

int report_summary(struct db *db, FILE *out)
{
	int64_t run[RUN_DEVICES_USED + 1];
	int several; /* processes, each with a row that says how busy its devices are */
	sqlite3_stmt *q = db_prepare(db, "SELECT coalesce(command, '') FROM run");

	if (q && db_step(q) > 0 && *db_text(q, 0))
		print(out, "cufence: %s\n", db_text(q, 0));
	sqlite3_finalize(q);
	if (report_functions(db) || report_losses(db, 1, out) ||
		read_numbers(db, FACT_RUN, run, RUN_DEVICES_USED + 1))
		return -1;
	if (!db_int(db, "SELECT max(id) FROM call", 0)) {
		fputs("    nothing was traced: no CUDA call was recorded\n", out);
		return report_losses(db, 0, out);
	}
	print_run(run, out);
	several = run[RUN_PROCESSES] > 1;
	if (print_recording(db, run, out) || (several && report_processes(db, out)) ||
		print_devices(db, several ? 1 : run[RUN_DEVICES_USED], out) ||
		print_work(db, run, out) || print_streams(db, run, out) || print_waits(db, out) ||
		report_account(db, out) || print_coverage(db, out))
		return -1;
	return report_settings(db, out) || report_hung(db, out) || report_losses(db, 0, out) ||
			print_accesses(db, out) || print_shared(db, out)
		? -1
		: 0;
}
