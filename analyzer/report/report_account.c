/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop in words, and where its time goes: how much of a turn each device idles, and why, and
 * what the looping thread does.  Numbers are per turn, or without a loop of the run from its first
 * work to its last.
 */
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "format.h"
#include "memory.h"
#include "print.h"
#include "report_facts.h"
#include "report_internal.h"
#include "rules.h"

/* Devices, and causes and blocked stretches of each, that are printed; table account has all. */
enum { MOST_DEVICES = 4, MOST_CAUSES = 4, MOST_STRETCHES = 2 };

/* Words for the causes of table account: for a device that idles, for the host. */
static const struct {
	const char *cause, *text;
	int is_pace; /* the host's own pace, not a wait */
	const char *host;
	int is_outside; /* outside of CUDA, and not blocked */
} causes[] = {
	{ "outside", "host outside CUDA", 1, "outside CUDA", 1 },
	{ "computing", "host computing outside CUDA", 1, "computing outside CUDA", 1 },
	{ "blocked", "host blocked outside CUDA", 0, "blocked outside CUDA", 0 },
	{ "preempted", "host preempted outside CUDA", 0, "preempted outside CUDA", 0 },
	{ "submit", "host in calls that submit", 1, "in calls that submit", 0 },
	{ "call", "host in other CUDA calls", 1, "in other CUDA calls", 0 },
	{ "wait", "host returning from waits", 0, "returning from waits", 0 },
	{ "held", "host waiting for another device", 0, "blocked by the device", 0 },
	{ "loading", "loading code", 0, "", 0 },
	{ "order", "operations waiting for other streams or devices", 0, "", 0 },
	{ "start", "operations on their way to the device", 1, "", 0 },
	{ "done", "no work left", 0, "", 0 },
	{ "unknown", "cause not recorded", 0, "", 0 },
	{ "kernels", "busy with kernels", 0, "", 0 },
	{ "copies", "busy with copies", 0, "", 0 },
	{ "both", "busy with kernels and copies at once", 0, "", 0 },
};

const char *report_host_cause(const char *cause)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (!strcmp(causes[i].cause, cause))
			return causes[i].host;
	return "";
}
#define CAUSES (sizeof(causes) / sizeof(*causes))
enum { BUSY_BOTH = CAUSES - 1, BUSY_COPIES = CAUSES - 2, BUSY = CAUSES - 3 };

struct sum {
	size_t cause;
	int64_t time, times;
};

/* A device of a process, or its host thread (device DB_NULL), with its sums. */
struct idling {
	struct report_idling of;
	int64_t pid;
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

	return i == CAUSES ? "" : host ? causes[i].host : causes[i].text;
}

int report_cause_is_busy(const char *name)
{
	size_t i = cause_of(name);

	return i >= BUSY && i < CAUSES;
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

int report_has_untimed_graphs(struct db *db, int64_t process)
{
	return number_of_process(db,
		       "SELECT count(*) FROM loss WHERE process = ? AND reason = 'older_graphs'",
		       process) > 0;
}

/*
 * Processes of one command are described by one of them, whose devices were busy for the longest
 * time: the ranks of a job do the same, and a row of each says how they differ.
 */
static const char described_sql[] =
	"CREATE TEMP TABLE IF NOT EXISTS described (process INTEGER PRIMARY KEY);"
	"INSERT OR IGNORE INTO temp.described SELECT id FROM (SELECT p.id, row_number() OVER"
	"  (PARTITION BY coalesce(c.value, p.id) ORDER BY (SELECT sum(busy) FROM device_use"
	"   WHERE process = p.id) DESC, p.id) AS number FROM process p"
	"  LEFT JOIN main.property c ON c.process = p.id AND c.name = 'command') WHERE number = 1";

static int is_described(struct db *db, int64_t process)
{
	return number_of_process(db, "SELECT count(*) FROM temp.described WHERE process = ?",
		       process) > 0;
}

static int has_several_processes(struct db *db)
{
	return db_int(db, "SELECT count(*) FROM process", 0) > 1;
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
	int step = -1, several = has_several_processes(db), printed = 0;
	char turn[DURATION_SIZE], pid[32] = "", warm[64], paused[DURATION_SIZE + 64] = "";

	while (q && (step = db_step(q)) > 0 && printed < MOST_DEVICES) {
		if (several && !is_described(db, sqlite3_column_int64(q, LOOPS_PROCESS)))
			continue;
		printed++;
		if (several)
			snprintf(pid, sizeof(pid),
				"pid %lld: ", (long long)sqlite3_column_int64(q, LOOPS_PID));
		snprintf(warm, sizeof(warm), ", after %lld to warm up",
			(long long)sqlite3_column_int64(q, LOOPS_WARM));
		if (sqlite3_column_int64(q, LOOPS_PAUSED))
			snprintf(paused, sizeof(paused), ", with %s outside of it in between",
				format_duration(turn, sqlite3_column_int64(q, LOOPS_PAUSED)));
		else
			*paused = '\0';
		print(out, "    loop     %s%lld turns of %s, from %s on%s%s\n", pid,
			(long long)sqlite3_column_int64(q, LOOPS_TURNS),
			format_duration(turn, sqlite3_column_int64(q, LOOPS_TURN)),
			db_text(q, LOOPS_PLACE), sqlite3_column_int64(q, LOOPS_WARM) ? warm : "",
			paused);
		if (print_inner_loops(db, sqlite3_column_int64(q, LOOPS_PROCESS), out)) {
			step = -1;
			break;
		}
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

static void add_sum(struct idling *idling, sqlite3_stmt *q)
{
	struct report_idling *of = &idling->of;
	size_t cause = cause_of(db_text(q, ACCOUNT_CAUSE));
	int64_t time = sqlite3_column_int64(q, ACCOUNT_TIME);

	if (cause >= BUSY) {
		of->busy += time;
		of->copies += cause == BUSY_COPIES ? time : 0;
		of->both += cause == BUSY_BOTH ? time : 0;
		return;
	}
	of->idle += time;
	of->pace += causes[cause].is_pace ? time : 0;
	of->outside += causes[cause].is_outside ? time : 0;
	idling->sum[idling->count++] =
		(struct sum){ cause, time, sqlite3_column_int64(q, ACCOUNT_TIMES) };
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

		if (!last || last->of.process != process || last->of.device != device) {
			last = array_push(*list, count);
			*last = (struct idling){ .of = { .process = process, .device = device } };
			last->pid = number_of_process(db, "SELECT pid FROM process WHERE id = ?",
				process);
			last->of.turns = number_of_process(db,
				"SELECT turns FROM loop WHERE process = ?", process);
		}
		if (last->count < CAUSES)
			add_sum(last, q);
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : (long)count;
}

static int64_t a_turn(const struct report_idling *of, int64_t number)
{
	return of->turns ? number / of->turns : number;
}

/* Prints the causes, the longest first, without small ones. */
static void print_causes(const struct idling *idling, FILE *out)
{
	const struct report_idling *of = &idling->of;
	const char *separator = ": ";
	char time[DURATION_SIZE];

	for (size_t i = 0; i < idling->count && i < MOST_CAUSES; i++) {
		const struct sum *sum = &idling->sum[i];

		if (sum->time < of->idle / ACCOUNT_SMALL_PART)
			break;
		print(out, "%s%s %s", separator, format_duration(time, a_turn(of, sum->time)),
			of->device == DB_NULL ? causes[sum->cause].host : causes[sum->cause].text);
		separator = ", ";
	}
}

static int print_blocked(struct db *db, const struct report_idling *of, FILE *out)
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
		/* What ended the time in which the thread was blocked. */
		const char *until = db_text(q, BLOCKED_UNTIL), *place = db_text(q, BLOCKED_PLACE);
		int64_t thread = sqlite3_column_int64(q, BLOCKED_THREAD);

		if (!strcmp(until, "host_function")) {
			fputs(" until a host function", out);
			if (sqlite3_column_type(q, BLOCKED_STREAM) != SQLITE_NULL)
				print(out, " on %s", db_text(q, BLOCKED_STREAM_NAME));
		} else if (!strcmp(until, "wait")) {
			print(out, " until thread %lld returned from a wait at %s",
				(long long)thread, place);
		} else if (!strcmp(until, "call")) {
			print(out, " until thread %lld, which submits, made its last call at %s",
				(long long)thread, place);
		} else {
			print(out, ", before %s (nothing was seen that ended it)",
				db_text(q, BLOCKED_TO));
		}
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
static int is_launch_bound(const struct report_idling *of)
{
	return of->idle > of->busy && of->pace > of->idle - of->idle / LAUNCH_BOUND_PART;
}

/* What a turn would take at most without waits, and what the device idles for then. */
static void print_ceiling(sqlite3_stmt *q, const char *pid, FILE *out)
{
	int64_t turn = sqlite3_column_int64(q, CEILING_TURN);
	int64_t saved = sqlite3_column_int64(q, CEILING_SAVED);
	int64_t unread = sqlite3_column_int64(q, CEILING_UNREAD_SAVED);
	int64_t least = turn * HIGH_PERCENT / 100, idle;
	int reads = saved < least || unread - saved >= least;
	char was[DURATION_SIZE], is[DURATION_SIZE], rest[DURATION_SIZE];

	if (unread < least)
		return;
	print(out, "    ceiling  %sa turn of %s would take ", pid, format_duration(was, turn));
	if (saved >= least)
		print(out, "%s without its avoidable waits and calls",
			format_duration(is, turn - saved));
	if (reads)
		print(out, "%s%s if the host waited for no result", saved >= least ? ", " : "",
			format_duration(is, turn - unread));
	idle = turn - (reads ? unread : saved) - sqlite3_column_int64(q, CEILING_BUSY);
	if (idle >= least)
		print(out, "; the device still idles for %s of that, %s",
			format_duration(rest, idle),
			sqlite3_column_int64(q, reads ? CEILING_UNREAD_BLOCKED : CEILING_BLOCKED) >=
					idle
				? "while the host waits for what it needs"
				: "because of the host's own time");
	fputc('\n', out);
}

static int print_ceilings(struct db *db, const struct report_idling *of, const char *pid, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_CEILING);
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		if (sqlite3_column_int64(q, CEILING_PROCESS) == of->process)
			print_ceiling(q, pid, out);
	sqlite3_finalize(q);
	return step;
}

static int print_host(struct db *db, const struct idling *idling, int several, FILE *out)
{
	const struct report_idling *of = &idling->of;
	char pid[32] = "";

	if (several)
		snprintf(pid, sizeof(pid), "pid %lld: ", (long long)idling->pid);
	print(out, "    host     %s%s of the %s", pid, of->turns ? "a turn" : "the time",
		of->turns ? "looping thread" : "thread that submits most");
	print_causes(idling, out);
	fputc('\n', out);
	return print_blocked(db, of, out) || print_ceilings(db, of, pid, out) ? -1 : 0;
}

/* What the device was busy with, if copies are a part of it. */
static void print_busy(const struct report_idling *of, const char *name, FILE *out)
{
	char kernels[DURATION_SIZE], copies[DURATION_SIZE], both[DURATION_SIZE];

	if (of->copies + of->both < of->busy / ACCOUNT_SMALL_PART)
		return;
	print(out, "    busy     %s runs kernels for %s%s, copies for %s", name,
		format_duration(kernels, a_turn(of, of->busy - of->copies)),
		of->turns ? " a turn" : "",
		format_duration(copies, a_turn(of, of->copies + of->both)));
	if (of->both)
		print(out, ", both at once for %s", format_duration(both, a_turn(of, of->both)));
	else if (of->busy > of->copies)
		fputs(", never both at once", out);
	fputc('\n', out);
}

static int print_device(struct db *db, const struct idling *idling, int several, FILE *out)
{
	const struct report_idling *of = &idling->of;
	const char *part = of->turns ? "a turn" : "the time from its first work to its last";
	char share[DURATION_SIZE], idle[DURATION_SIZE], name[64] = "the device";

	if (several)
		snprintf(name, sizeof(name), "device %lld, pid %lld,", (long long)of->device,
			(long long)idling->pid);
	if (report_has_untimed_graphs(db, of->process)) {
		print(out, "    idle     not known: %s also runs graphs that were not timed\n",
			name);
		return 0;
	}
	print_busy(of, name, out);
	if (of->idle < (of->idle + of->busy) / ACCOUNT_SMALL_PART) {
		print(out, "    idle     little: %s is busy %s of %s\n", name,
			format_share(share, (double)of->busy / (double)(of->idle + of->busy)),
			part);
		return 0;
	}
	print(out, "    idle     %s idles %s of %s (%s)", name,
		format_share(share, (double)of->idle / (double)(of->idle + of->busy)), part,
		format_duration(idle, a_turn(of, of->idle)));
	print_causes(idling, out);
	fputc('\n', out);
	if (report_outside(db, of, out))
		return -1;
	return of->turns && is_launch_bound(of) ? report_pace(db, of, out) : 0;
}

int report_account(struct db *db, FILE *out)
{
	struct idling *list = NULL;
	long count =
		db_exec(db, described_sql) || print_loops(db, out) ? -1 : read_devices(db, &list);
	int rc = count < 0 ? -1 : 0, several = has_several_processes(db), printed = 0;

	for (long i = 0; i < count && printed < 2 * MOST_DEVICES && !rc; i++) {
		if (several && !is_described(db, list[i].of.process))
			continue;
		printed++;
		rc = list[i].of.device == DB_NULL
			? print_host(db, &list[i], several, out)
			: print_device(db, &list[i], several || count > 2, out);
	}
	free(list);
	return rc;
}
