/* SPDX-License-Identifier: Apache-2.0 */
#include "why_stuck.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format.h"
#include "memory.h"
#include "print.h"
#include "unended.h"
#include "words.h"

#define MOST_IDLE 8 /* threads outside of CUDA that are listed */

struct process {
	int64_t id, pid, start, now; /* ns; now: the end of the trace, if it is no longer alive */
	int simulated, timed;        /* timed: with records of device operations */
	const struct traced *traced; /* NULL: not alive */
};

struct why_stuck {
	struct db *db;
	struct words *words;
	struct unended unended;
	struct process process;
	char *said; /* by number of unended.item: its stream was explained */
	FILE *out;
};

/* A thread's last call. */
struct last_call {
	int64_t call, thread, tid, enter, exit; /* exit DB_NULL: it has not returned */
	int64_t stream, event, context, result;
	enum call_kind kind;
};

/*
 * How long ago that was, with before and after around it.  Virtual time stands still in a program
 * that hangs.
 */
static void say_when(const struct why_stuck *why, const char *before, int64_t time,
	const char *after)
{
	const struct process *process = &why->process;
	char text[DURATION_SIZE];

	if (process->simulated)
		print(why->out, " since %s", format_duration(text, time - process->start));
	else
		print(why->out, "%s%s%s", before,
			format_duration(text, process->now > time ? process->now - time : 0),
			after);
}

static void say_since(const struct why_stuck *why, int64_t time)
{
	say_when(why, " for ", time, "");
}

static int64_t number_of(const struct why_stuck *why, const char *sql, int64_t id)
{
	sqlite3_stmt *q = db_prepare(why->db, sql);
	int64_t number = DB_NULL;

	if (q && !db_bind(q, "i", id) && db_step(q) > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL)
		number = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return number;
}

/* "kernel 'x' on stream 7 (a.cu:31)" */
static void say_work(const struct why_stuck *why, int64_t call)
{
	words_operation(why->words, call, why->out);
	words_place(why->words, call, why->out);
}

/* 'S' and the like of proc_pid_stat(5), 0: not known.  The trace has ids of the process's own. */
static char state_of(const struct process *process, int64_t tid)
{
	char *path, text[256], state = 0;
	const char *end;
	FILE *file;

	if (!process->traced || process->traced->header->pid != (uint32_t)process->traced->pid)
		return 0;
	path = xprintf("/proc/%ld/task/%lld/stat", process->traced->pid, (long long)tid);
	file = fopen(path, "re");
	if (file && fgets(text, sizeof(text), file) && (end = strrchr(text, ')')) && end[1])
		state = end[2];
	if (!file)
		state = 'X';
	else
		fclose(file);
	free(path);
	return state;
}

static const char *state_name(char state)
{
	return state == 'R' ? ", and computes" : state == 'S' || state == 'D' ? ", and sleeps" : "";
}

static int say_host_function(const struct why_stuck *why, int64_t call)
{
	sqlite3_stmt *q = db_prepare(why->db,
		"SELECT h.tid, r.enter FROM host_run r JOIN thread h ON h.id = r.thread"
		" WHERE r.call = ? AND r.exit IS NULL");
	int rc = q && !db_bind(q, "i", call) ? db_step(q) : -1;

	if (rc > 0) {
		int64_t tid = sqlite3_column_int64(q, 0);

		print(why->out, "which thread %lld has been running", (long long)tid);
		say_since(why, sqlite3_column_int64(q, 1));
		print(why->out, "%s", state_name(state_of(&why->process, tid)));
	} else if (!rc) {
		fputs("which has not been seen to run", why->out);
	}
	sqlite3_finalize(q);
	return rc < 0 ? -1 : 0;
}

/* Which collective a kernel is, of which the other ranks have not come, if it is one. */
static int say_collective(const struct why_stuck *why, int64_t launch)
{
	sqlite3_stmt *q = db_prepare(why->db,
		"SELECT t.name, l.sequence, m.rank, m.ranks, ifnull(m.identity, 0) & 0xffffffff"
		" FROM collective l JOIN communicator m ON m.id = l.communicator"
		" JOIN call c ON c.id = l.call JOIN call_type t ON t.id = c.type"
		" WHERE l.launch = ? ORDER BY l.id LIMIT 1");
	int rc = q && !db_bind(q, "i", launch) ? db_step(q) : -1;

	if (rc > 0) {
		print(why->out, ": %s", db_text(q, 0));
		if (sqlite3_column_type(q, 1) != SQLITE_NULL)
			print(why->out, ", call %d", sqlite3_column_int(q, 1));
		print(why->out, " of rank %d of %d in communicator %08x", sqlite3_column_int(q, 2),
			sqlite3_column_int(q, 3), (unsigned)sqlite3_column_int64(q, 4));
	}
	sqlite3_finalize(q);
	return rc < 0 ? -1 : 0;
}

/* Why the first call of a stream has not ended; *next: the head of the stream that it waits for. */
static int say_head(const struct why_stuck *why, const struct unended_call *head,
	const struct unended_call **next)
{
	*next = NULL;
	fputs("        ", why->out);
	say_work(why, head->call);
	fputs(", submitted", why->out);
	say_when(why, " ", number_of(why, "SELECT enter FROM call WHERE id = ?", head->call),
		" ago");
	fputs(",\n        ", why->out);
	if (head->after) {
		*next = unended_head(&why->unended, head->after);
		fputs(kind_family(head->kind) == FAMILY_event_wait ? "which waits for "
								   : "which comes after ",
			why->out);
		say_work(why, head->after);
	} else if (kind_family(head->kind) == FAMILY_callback) {
		if (say_host_function(why, head->call))
			return -1;
	} else if (kind_has(head->kind, K_OUTSIDE)) {
		fputs(kind_family(head->kind) == FAMILY_external
				? "which nothing is known to have signalled"
				: "whose value is not known to have been written",
			why->out);
	} else {
		fputs("which has not ended", why->out);
		if (say_collective(why, head->call))
			return -1;
	}
	fputc('\n', why->out);
	return 0;
}

/* The chain that starts at a stream's first unended call. */
static int say_chain(const struct why_stuck *why, const struct unended_call *head)
{
	const struct unended_call *next;

	for (; head; head = next) {
		size_t number = (size_t)(head - why->unended.item);

		fputs("    ", why->out);
		words_stream(why->words, head->call, "", why->out);
		print(why->out,
			head->count == 1 ? ": %zu call has not ended\n"
					 : ": %zu calls have not ended, of which the first is\n",
			head->count);
		if (why->said[number]) {
			fputs("        as said above\n", why->out);
			return 0;
		}
		why->said[number] = 1;
		if (say_head(why, head, &next))
			return -1;
	}
	return 0;
}

/*
 * The chains of all streams that a wait for several of them covers.  legacy: those which the legacy
 * default stream waits for, of its context.
 */
static int say_heads(const struct why_stuck *why, int64_t context, int legacy, size_t *count)
{
	for (size_t i = 0; i < why->unended.count; i++) {
		const struct unended_call *head = &why->unended.item[i];

		if (!unended_is_head(&why->unended, i) || head->process != why->process.id ||
			(context != DB_NULL && head->context != context) ||
			(legacy &&
				number_of(why,
					"SELECT kind = 'non-blocking' FROM stream WHERE id = ?",
					head->stream) > 0))
			continue;
		++*count;
		if (say_chain(why, head))
			return -1;
	}
	return 0;
}

/* The last record of an event before a call; DB_NULL: none. */
static int64_t record_of(const struct why_stuck *why, const struct last_call *last)
{
	sqlite3_stmt *q = db_prepare(why->db,
		"SELECT max(c.id) FROM call c JOIN call_type t ON t.id = c.type"
		" JOIN call_kind k ON k.name = t.kind"
		" WHERE c.event = ? AND c.id < ? AND c.result = 0"
		" AND k.family = 'event' AND (k.marker OR k.names_context)");
	int64_t record = DB_NULL;

	if (q && !db_bind(q, "ii", last->event, last->call) && db_step(q) > 0 &&
		sqlite3_column_type(q, 0) != SQLITE_NULL)
		record = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return record;
}

static int say_event(const struct why_stuck *why, const struct last_call *last)
{
	int64_t record = last->event == DB_NULL ? DB_NULL : record_of(why, last);
	const struct unended_call *head = NULL;

	if (record == DB_NULL) {
		fputs("    for an event whose record is not known\n", why->out);
		return 0;
	}
	head = unended_head(&why->unended, record);
	fputs("    for ", why->out);
	say_work(why, record);
	fputs(head ? "\n" : ", which has ended: it should return\n", why->out);
	return say_chain(why, head);
}

static int is_legacy(const struct why_stuck *why, int64_t stream)
{
	return number_of(why, "SELECT kind = 'legacy' FROM stream WHERE id = ?", stream) > 0;
}

/* Prints the work that a call in progress waits for. */
static int say_reason(const struct why_stuck *why, const struct last_call *last)
{
	enum kind_waits waits = kind_waits(last->kind);
	const struct unended_call *head =
		last->stream == DB_NULL ? NULL : unended_head_of(&why->unended, last->stream);
	size_t count = 0;
	int rc;

	if (waits == WAITS_EVENT || last->kind == KIND_EVENT_QUERY)
		return say_event(why, last);
	if (head && !is_legacy(why, last->stream))
		return say_chain(why, head);
	rc = say_heads(why,
		waits == WAITS_DEVICE || waits == WAITS_PROCESS ? DB_NULL : last->context,
		last->stream != DB_NULL && is_legacy(why, last->stream), &count);
	if (!count)
		fputs("    all recorded work has ended: it waits within the driver\n", why->out);
	return rc;
}

static void say_thread(const struct why_stuck *why, const struct last_call *last)
{
	sqlite3_stmt *q = db_prepare(why->db, "SELECT name FROM thread WHERE id = ?");
	const char *name =
		q && !db_bind(q, "i", last->thread) && db_step(q) > 0 ? db_text(q, 0) : "";

	print(why->out, "  thread %lld%s%s%s ", (long long)last->tid, *name ? " '" : "", name,
		*name ? "'" : "");
	sqlite3_finalize(q);
}

static void say_call(const struct why_stuck *why, int64_t call)
{
	words_call(why->words, call, why->out);
	words_place(why->words, call, why->out);
}

/* A loop of queries is several records. */
static const char polls_sql[] =
	"SELECT min(c.enter), sum(ifnull(p.count, 1)) FROM call c"
	" LEFT JOIN polling p ON p.call = c.id JOIN (SELECT ifnull(max(x.id), 0) AS other"
	"  FROM call x JOIN call_type t ON t.id = x.type JOIN call_kind k ON k.name = t.kind"
	"  WHERE x.thread = ?1 AND NOT k.polls AND NOT t.runtime)"
	" JOIN call_type t ON t.id = c.type WHERE c.thread = ?1 AND c.id > other AND NOT t.runtime";

static int say_polling(const struct why_stuck *why, const struct last_call *last)
{
	sqlite3_stmt *q = db_prepare(why->db, polls_sql);
	int rc = q && !db_bind(q, "i", last->thread) ? db_step(q) : -1;

	if (rc > 0) {
		say_thread(why, last);
		print(why->out, "has called ");
		say_call(why, last->call);
		print(why->out, " %lld times", (long long)sqlite3_column_int64(q, 1));
		say_since(why, sqlite3_column_int64(q, 0));
		fputs(", which is not ready\n", why->out);
	}
	sqlite3_finalize(q);
	return rc < 0 ? -1 : say_reason(why, last);
}

static int say_blocked(const struct why_stuck *why, const struct last_call *last)
{
	say_thread(why, last);
	fputs("has been in ", why->out);
	say_call(why, last->call);
	say_since(why, last->enter);
	fputc('\n', why->out);
	return say_reason(why, last);
}

static void say_idle(const struct why_stuck *why, const struct last_call *last)
{
	say_thread(why, last);
	fputs("is in no CUDA call: ", why->out);
	say_call(why, last->call);
	fputs(" has been over", why->out);
	say_since(why, last->exit);
	fputc('\n', why->out);
}

static int is_polling(const struct last_call *last)
{
	return kind_has(last->kind, K_POLLS) && last->result == RESULT_NOT_READY;
}

static const char last_sql[] =
	"SELECT c.id, h.id, h.tid, c.enter, c.exit, c.stream, c.event, c.context, c.result, t.kind"
	" FROM call c JOIN thread h ON h.id = c.thread JOIN call_type t ON t.id = c.type"
	" WHERE c.id IN (SELECT max(c.id) FROM call c JOIN call_type t ON t.id = c.type"
	"  WHERE c.process = ? AND NOT t.runtime GROUP BY c.thread)"
	" ORDER BY c.exit IS NOT NULL, c.enter";

static int64_t column(sqlite3_stmt *q, int number)
{
	return sqlite3_column_type(q, number) == SQLITE_NULL ? DB_NULL
							     : sqlite3_column_int64(q, number);
}

static int say_threads(const struct why_stuck *why)
{
	sqlite3_stmt *q = db_prepare(why->db, last_sql);
	int rc = q && !db_bind(q, "i", why->process.id) ? 0 : -1, idle = 0;

	while (rc >= 0 && (rc = db_step(q)) > 0) {
		struct last_call last = { .call = column(q, 0),
			.thread = column(q, 1),
			.tid = column(q, 2),
			.enter = column(q, 3),
			.exit = column(q, 4),
			.stream = column(q, 5),
			.event = column(q, 6),
			.context = column(q, 7),
			.result = column(q, 8),
			.kind = call_kind_named(db_text(q, 9)) };

		if (state_of(&why->process, last.tid) == 'X')
			continue;
		if (last.exit == DB_NULL)
			rc = say_blocked(why, &last);
		else if (is_polling(&last))
			rc = say_polling(why, &last);
		else if (idle++ < MOST_IDLE)
			say_idle(why, &last);
	}
	sqlite3_finalize(q);
	if (!rc && idle > MOST_IDLE)
		print(why->out, "  %d more threads are in no CUDA call\n", idle - MOST_IDLE);
	return rc;
}

/* Runs of nodes of graphs: no call of a stream is known to have submitted them. */
static int say_nodes(const struct why_stuck *why)
{
	sqlite3_stmt *q = db_prepare(why->db,
		"SELECT h.tid, r.enter FROM host_run r JOIN thread h ON h.id = r.thread"
		" WHERE r.process = ? AND r.call IS NULL AND r.exit IS NULL ORDER BY r.enter");
	int rc = q && !db_bind(q, "i", why->process.id) ? 0 : -1;

	while (rc >= 0 && (rc = db_step(q)) > 0) {
		int64_t tid = sqlite3_column_int64(q, 0);

		print(why->out, "  thread %lld has been running a host function of a graph",
			(long long)tid);
		say_since(why, sqlite3_column_int64(q, 1));
		print(why->out, "%s\n", state_name(state_of(&why->process, tid)));
	}
	sqlite3_finalize(q);
	return rc;
}

/* What no thread waits for in a call: it may wait by other means, as for a word in memory. */
static int say_rest(const struct why_stuck *why)
{
	int first = 1;

	for (size_t i = 0; i < why->unended.count; i++) {
		const struct unended_call *head = &why->unended.item[i];

		if (!unended_is_head(&why->unended, i) || why->said[i] ||
			head->process != why->process.id)
			continue;
		if (first)
			fputs("  no thread is in a call that waits for\n", why->out);
		first = 0;
		if (say_chain(why, head))
			return -1;
	}
	return 0;
}

static int say_process(struct why_stuck *why)
{
	const struct process *process = &why->process;

	print(why->out, "process %lld%s%s\n", (long long)process->pid,
		process->traced && *process->traced->command ? ": " : "",
		process->traced ? process->traced->command : "");
	if (say_threads(why) || say_nodes(why) || say_rest(why))
		return -1;
	if (!process->timed)
		fputs("  device operations were not recorded: what ended after the host last "
		      "waited for it is not known\n",
			why->out);
	return 0;
}

static const struct traced *traced_with(const struct traced_list *list, int64_t pid)
{
	for (size_t i = 0; list && i < list->count; i++)
		if (list->item[i].header->pid == (uint64_t)pid)
			return &list->item[i];
	return NULL;
}

static int64_t now_ns(int64_t zero)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - zero;
}

int why_stuck(struct db *db, const struct traced_list *list, FILE *out)
{
	struct why_stuck why = { .db = db, .out = out };
	int64_t zero = db_int(db, "SELECT start_unix_ns FROM run", 0);
	sqlite3_stmt *q = NULL;
	int rc = unended_find(&why.unended, db);

	why.said = xcalloc(why.unended.count, 1);
	why.words = rc ? NULL : words_open(db);
	if (why.words)
		q = db_prepare(db,
			"SELECT id, pid, start, end, simulated, cupti = 'on'"
			" FROM process ORDER BY id");
	rc = q ? 0 : -1;
	while (rc >= 0 && (rc = db_step(q)) > 0) {
		const struct traced *traced = traced_with(list, sqlite3_column_int64(q, 1));

		why.process = (struct process){
			.id = sqlite3_column_int64(q, 0),
			.pid = traced ? traced->pid : sqlite3_column_int64(q, 1),
			.start = sqlite3_column_int64(q, 2),
			.now = traced ? now_ns(zero) : sqlite3_column_int64(q, 3),
			.simulated = sqlite3_column_int(q, 4),
			.timed = sqlite3_column_int(q, 5),
			.traced = traced,
		};
		if (say_process(&why))
			rc = -1;
	}
	sqlite3_finalize(q);
	words_close(why.words);
	unended_release(&why.unended);
	free(why.said);
	return rc;
}
