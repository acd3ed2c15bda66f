/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop in words, and where its time goes: how much of a turn each device idles, and why, and
 * what the looping thread does.  Numbers are per turn, or without a loop of the run from its first
 * work to its last.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "constants.h"
#include "format.h"
#include "print.h"
#include "report_facts.h"
#include "report_parts.h"
#include "rules.h"

/* Devices, and causes and stretches of each, that are printed; table account has all. */
enum { MOST_DEVICES = 4, MOST_CAUSES = 4, MOST_STRETCHES = 2 };

/* Words for the causes of table account: for a device that idles, for the host. */
static const struct {
	const char *cause, *text;
	int is_pace; /* the host's own pace, not a wait */
	const char *host;
} causes[] = {
	{ "outside", "host outside CUDA", 1, "outside CUDA" },
	{ "computing", "host computing outside CUDA", 1, "computing outside CUDA" },
	{ "blocked", "host blocked outside CUDA", 0, "blocked outside CUDA" },
	{ "preempted", "host preempted outside CUDA", 0, "preempted outside CUDA" },
	{ "submit", "host in calls that submit", 1, "in calls that submit" },
	{ "call", "host in other CUDA calls", 1, "in other CUDA calls" },
	{ "wait", "host returning from waits", 0, "returning from waits" },
	{ "held", "", 0, "blocked by the device" },
	{ "loading", "loading code", 0, "" },
	{ "order", "operations waiting for other streams or devices", 0, "" },
	{ "start", "operations on their way to the device", 1, "" },
	{ "done", "no work left", 0, "" },
	{ "unknown", "cause not recorded", 0, "" },
};
#define CAUSES (sizeof(causes) / sizeof(*causes))

struct sum {
	size_t cause;
	int64_t time, times;
};

/* A device of a process, or its host thread (device DB_NULL), with its sums. */
struct idling {
	int64_t process, device, pid, turns;
	int64_t busy, idle, pace; /* ns */
	struct sum sum[CAUSES];
	size_t count;
};

static size_t cause_of(const char *name)
{
	size_t i = 0;

	while (i < CAUSES && strcmp(causes[i].cause, name))
		i++;
	return i;
}

const char *report_cause_text(const char *name, int host)
{
	size_t i = cause_of(name);

	return i == CAUSES ? "busy" : host ? causes[i].host : causes[i].text;
}

/* The loops within the turns of a process's loop. */
static int print_inner_loops(struct db *db, int64_t process, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_INNER_LOOPS);
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		if (sqlite3_column_int64(q, INNER_LOOPS_PROCESS) == process)
			print(out, "             each with %lld turns from %s on\n",
				(long long)sqlite3_column_int64(q, INNER_LOOPS_TURNS),
				db_text(q, INNER_LOOPS_PLACE));
	sqlite3_finalize(q);
	return step;
}

static int print_loops(struct db *db, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_LOOPS);
	int step = -1, several = db_int(db, "SELECT count(*) FROM loop", 0) > 1;
	char turn[DURATION_SIZE], pid[32] = "", warm[64];

	for (int i = 0; q && (step = db_step(q)) > 0 && i < MOST_DEVICES; i++) {
		if (several)
			snprintf(pid, sizeof(pid),
				"pid %lld: ", (long long)sqlite3_column_int64(q, LOOPS_PID));
		snprintf(warm, sizeof(warm), ", after %lld to warm up",
			(long long)sqlite3_column_int64(q, LOOPS_WARM));
		print(out, "    loop     %s%lld turns of %s, from %s on%s\n", pid,
			(long long)sqlite3_column_int64(q, LOOPS_TURNS),
			format_duration(turn, sqlite3_column_int64(q, LOOPS_TURN)),
			db_text(q, LOOPS_PLACE), sqlite3_column_int64(q, LOOPS_WARM) ? warm : "");
		if (print_inner_loops(db, sqlite3_column_int64(q, LOOPS_PROCESS), out)) {
			step = -1;
			break;
		}
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

static void add_sum(struct idling *of, sqlite3_stmt *q)
{
	size_t cause = cause_of(db_text(q, ACCOUNT_CAUSE));
	int64_t time = sqlite3_column_int64(q, ACCOUNT_TIME);

	if (cause == CAUSES) {
		of->busy += time;
		return;
	}
	of->idle += time;
	of->pace += causes[cause].is_pace ? time : 0;
	of->sum[of->count++] = (struct sum){ cause, time, sqlite3_column_int64(q, ACCOUNT_TIMES) };
}

static int64_t number_of_process(struct db *db, const char *sql, int64_t process)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int64_t number = 0;

	if (q && !db_bind(q, "i", process) && db_step(q) > 0)
		number = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return number;
}

/* Findings that save time, of other rules. */
static int64_t number_of_others(struct db *db, enum rule but)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT count(*) FROM finding WHERE shown AND saving > 0 AND rule <> ?");
	int64_t number = 0;

	if (q && !db_bind(q, "s", rules[but].id) && db_step(q) > 0)
		number = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return number;
}

/* The devices in the account, of each process: how many, -1 after a message. */
static long read_devices(struct db *db, struct idling **list)
{
	sqlite3_stmt *q = report_fact(db, FACT_ACCOUNT);
	struct idling *last = NULL;
	size_t count = 0;
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t process = sqlite3_column_int64(q, ACCOUNT_PROCESS);
		int64_t device = sqlite3_column_type(q, ACCOUNT_DEVICE) == SQLITE_NULL
			? DB_NULL
			: sqlite3_column_int64(q, ACCOUNT_DEVICE);

		if (!last || last->process != process || last->device != device) {
			last = array_room(*list, count, sizeof(*last));
			if (!last) {
				step = -1;
				break;
			}
			*list = last;
			last += count++;
			*last = (struct idling){ .process = process, .device = device };
			last->pid = number_of_process(db, "SELECT pid FROM process WHERE id = ?",
				process);
			last->turns = number_of_process(db,
				"SELECT turns FROM loop WHERE process = ?", process);
		}
		if (last->count < CAUSES)
			add_sum(last, q);
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : (long)count;
}

static int64_t a_turn(const struct idling *of, int64_t number)
{
	return of->turns ? number / of->turns : number;
}

/* Prints the causes, the longest first, without small ones. */
static void print_causes(const struct idling *of, FILE *out)
{
	const char *separator = ": ";
	char time[DURATION_SIZE];

	for (size_t i = 0; i < of->count && i < MOST_CAUSES; i++) {
		const struct sum *sum = &of->sum[i];

		if (sum->time < of->idle / ACCOUNT_SMALL_PART)
			break;
		print(out, "%s%s %s", separator, format_duration(time, a_turn(of, sum->time)),
			of->device == DB_NULL ? causes[sum->cause].host : causes[sum->cause].text);
		separator = ", ";
	}
}

static int print_stretches(struct db *db, const struct idling *of, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_OUTSIDE);
	const char *separator = "             outside CUDA most: ";
	char time[DURATION_SIZE];
	int step = -1, count = 0;

	while (q && (step = db_step(q)) > 0 && count < MOST_STRETCHES) {
		int64_t spent = sqlite3_column_int64(q, OUTSIDE_TIME);

		if (sqlite3_column_type(q, OUTSIDE_DEVICE) == SQLITE_NULL ||
			sqlite3_column_int64(q, OUTSIDE_PROCESS) != of->process ||
			sqlite3_column_int64(q, OUTSIDE_DEVICE) != of->device ||
			spent < of->idle / ACCOUNT_SMALL_PART)
			continue;
		print(out, "%s%s from %s to %s", separator,
			format_duration(time, a_turn(of, spent)), db_text(q, OUTSIDE_FROM),
			db_text(q, OUTSIDE_TO));
		separator = "; ";
		count++;
	}
	if (count)
		fputc('\n', out);
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* What ended the time in which the thread was blocked. */
static void print_until(sqlite3_stmt *q, FILE *out)
{
	const char *until = db_text(q, BLOCKED_UNTIL), *place = db_text(q, BLOCKED_PLACE);
	int64_t thread = sqlite3_column_int64(q, BLOCKED_THREAD);

	if (!strcmp(until, "host_function")) {
		fputs(" until a host function", out);
		if (sqlite3_column_type(q, BLOCKED_STREAM) != SQLITE_NULL)
			print(out, " on stream %lld",
				(long long)sqlite3_column_int64(q, BLOCKED_STREAM));
	} else if (!strcmp(until, "wait")) {
		print(out, " until thread %lld returned from a wait at %s", (long long)thread,
			place);
	} else if (!strcmp(until, "call")) {
		print(out, " until thread %lld, which submits, made its last call at %s",
			(long long)thread, place);
	} else {
		print(out, ", before %s (nothing was seen that ended it)", db_text(q, BLOCKED_TO));
	}
}

static int print_blocked(struct db *db, const struct idling *of, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_BLOCKED);
	const char *separator = "             blocked outside CUDA";
	char time[DURATION_SIZE];
	int step = -1, count = 0;

	while (q && (step = db_step(q)) > 0 && count < MOST_STRETCHES) {
		int64_t spent = sqlite3_column_int64(q, BLOCKED_TIME);

		if (sqlite3_column_int64(q, BLOCKED_PROCESS) != of->process ||
			spent < of->idle / ACCOUNT_SMALL_PART)
			continue;
		print(out, "%s at %s", separator, db_text(q, BLOCKED_FROM));
		print_until(q, out);
		print(out, ": %s", format_duration(time, a_turn(of, spent)));
		separator = ";";
		count++;
	}
	if (count)
		fputc('\n', out);
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* The device idles most of the time because the host submits too slowly. */
static int is_launch_bound(const struct idling *of)
{
	return of->idle > of->busy && of->pace > of->idle - of->idle / LAUNCH_BOUND_PART;
}

static void print_advice(struct db *db, const struct idling *of, FILE *out)
{
	char needs[DURATION_SIZE], work[DURATION_SIZE];
	int scripts = db_int(db, "SELECT EXISTS (SELECT 1 FROM code)", 0) > 0;
	int others = number_of_others(db, RULE_launch_bound) > 0;

	print(out,
		"             the host needs %s to submit %s of work%s: use "
		"fewer and larger operations, or a CUDA graph%s\n",
		format_duration(needs, a_turn(of, of->pace)),
		format_duration(work, a_turn(of, of->busy)), others ? "" : ", not because of waits",
		scripts ? " (PyTorch: torch.compile with mode=\"reduce-overhead\")" : "");
}

static int print_host(struct db *db, const struct idling *of, int several, FILE *out)
{
	char pid[32] = "";

	if (several)
		snprintf(pid, sizeof(pid), "pid %lld: ", (long long)of->pid);
	print(out, "    host     %s%s of the %s", pid, of->turns ? "a turn" : "the time",
		of->turns ? "looping thread" : "thread that submits most");
	print_causes(of, out);
	fputc('\n', out);
	return print_blocked(db, of, out);
}

static int print_device(struct db *db, const struct idling *of, int several, FILE *out)
{
	const char *part = of->turns ? "a turn" : "the time from its first work to its last";
	char share[DURATION_SIZE], idle[DURATION_SIZE], name[64] = "the device";

	if (several)
		snprintf(name, sizeof(name), "device %lld, pid %lld,", (long long)of->device,
			(long long)of->pid);
	if (of->idle < (of->idle + of->busy) / ACCOUNT_SMALL_PART) {
		print(out, "    idle     little: %s is busy %s of %s\n", name,
			format_share(share, (double)of->busy / (double)(of->idle + of->busy)),
			part);
		return 0;
	}
	print(out, "    idle     %s idles %s of %s (%s)", name,
		format_share(share, (double)of->idle / (double)(of->idle + of->busy)), part,
		format_duration(idle, a_turn(of, of->idle)));
	print_causes(of, out);
	fputc('\n', out);
	if (print_stretches(db, of, out))
		return -1;
	if (of->turns && is_launch_bound(of))
		print_advice(db, of, out);
	return 0;
}

static int several_processes(const struct idling *list, long count)
{
	return count && list[count - 1].process != list[0].process;
}

int report_account(struct db *db, FILE *out)
{
	struct idling *list = NULL;
	long count = print_loops(db, out) ? -1 : read_devices(db, &list);
	int rc = count < 0 ? -1 : 0;

	for (long i = 0; i < count && i < 2 * MOST_DEVICES && !rc; i++)
		rc = list[i].device == DB_NULL
			? print_host(db, &list[i], several_processes(list, count), out)
			: print_device(db, &list[i], count > 2, out);
	free(list);
	return rc;
}
