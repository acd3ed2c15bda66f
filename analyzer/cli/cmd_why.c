/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufence why: says in words what orders two operations, or those of a finding.  The order engine
 * follows the run again and says how surely they are ordered; the chain of steps comes from view
 * dependency.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "order.h"
#include "order_path.h"
#include "print.h"
#include "run_columns.h"
#include "why_memory.h"
#include "words.h"

/* One of the two operations. */
struct end {
	int64_t op;
	int64_t call;
	int64_t start, finish; /* ns, INT64_MIN: not known */
};

struct why {
	struct db db;
	struct words *words;
	struct order order;
	struct end earlier, later;
	struct order_epoch epoch; /* of the earlier operation */
	enum order_strength strength;
	int done;
};

static int read_number(const char *text, int64_t *number)
{
	char *end;

	*number = strtoll(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && *number > 0 ? 0 : -1;
}

static int find_end(struct why *why, const char *text, struct end *end)
{
	sqlite3_stmt *q;
	int rc = -1;

	if (read_number(text, &end->op)) {
		print(stderr,
			"cufence why: '%s' is no operation: give the number of a finding, or two "
			"ids of table operation (cufence query DB 'SELECT id, kind, start FROM "
			"operation')\n",
			text);
		return -1;
	}
	q = db_prepare(&why->db, "SELECT ifnull(call, 0), start, end FROM operation WHERE id = ?");
	if (q && !db_bind(q, "i", end->op))
		rc = db_step(q);
	if (rc > 0) {
		end->call = sqlite3_column_int64(q, 0);
		end->start = sqlite3_column_type(q, 1) == SQLITE_NULL ? INT64_MIN
								      : sqlite3_column_int64(q, 1);
		end->finish = sqlite3_column_type(q, 2) == SQLITE_NULL ? INT64_MIN
								       : sqlite3_column_int64(q, 2);
	}
	sqlite3_finalize(q);
	if (!rc)
		print(stderr, "cufence why: there is no operation %s: '%s' has %lld\n", text,
			why->db.path,
			(long long)db_int(&why->db, "SELECT max(id) FROM operation", 0));
	else if (rc > 0 && !end->call)
		print(stderr, "cufence why: the call of operation %s was not recorded\n", text);
	return rc > 0 && end->call ? 0 : -1;
}

static int follow(void *arg, const struct walk_call *call)
{
	struct why *why = arg;

	if (order_step(&why->order, call))
		return -1;
	if (call->id == why->earlier.call)
		why->epoch = why->order.epoch;
	if (call->id != why->later.call)
		return 0;
	why->strength = order_before(&why->order, why->epoch);
	why->done = 1;
	return -1; /* stop: the later calls do not matter */
}

static void say_call(struct why *why, int64_t call)
{
	const char *place = NULL;
	sqlite3_stmt *q = db_prepare(&why->db,
		"SELECT s.text FROM call c "
		"JOIN site s ON s.id = c.site WHERE c.id = ?");
	int64_t outermost = words_outermost(why->words, call);

	if (q && !db_bind(q, "i", outermost) && db_step(q) > 0)
		place = (const char *)sqlite3_column_text(q, 0);
	if (place)
		print(stdout, ", %s", place);
	print(stdout, " (call %lld)", (long long)call);
	sqlite3_finalize(q);
}

static int say_operation(struct why *why, int64_t call)
{
	if (words_operation(why->words, call, stdout))
		return -1;
	say_call(why, call);
	return 0;
}

/* A call without an operation (a host wait, an event record) is named as it is written. */
static int say_node(struct why *why, int64_t call)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT 1 FROM operation WHERE call = %lld LIMIT 1",
		(long long)call);
	if (db_int(&why->db, sql, 0))
		return say_operation(why, call);
	if (words_call(why->words, call, stdout))
		return -1;
	say_call(why, call);
	return 0;
}

static const char *const reasons[ORDER_REASONS] = {
	[ORDER_STREAM] = "which comes after it in its stream",
	[ORDER_EVENT] = "which comes after a wait for an event recorded after it",
	[ORDER_LEGACY] = "which comes after it by the rule of the legacy default stream",
	[ORDER_WAIT] = "which waited for it on the host",
	[ORDER_HOST] = "which was called after its thread had waited for it",
	[ORDER_THREAD] = "which waited for a thread that had observed it complete",
	[ORDER_GRAPH] = "which launches the same executable graph again",
	[ORDER_INCIDENT] = "which waited for it in this run, although CUDA does not guarantee that",
	[ORDER_REUSE] = "which was given the memory that was freed there",
	[ORDER_START] = "which comes after everything that call had to come after",
	[ORDER_AFTERWARDS] = "which puts all later work after it, too",
};

static int say_chain(struct why *why, const struct order_link *link, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		print(stdout, "    then ");
		if (say_node(why, link[i].call))
			return -1;
		print(stdout, ", %s\n", reasons[link[i].reason]);
	}
	return 0;
}

static const char *const verdicts[] = {
	[ORDER_UNORDERED] = "nothing orders them",
	[ORDER_UNKNOWN] =
		"not known: between them are calls that cufence does not model, that overlap or "
		"that were not recorded, or the order was not followed so far (see \"cufence "
		"report\")",
	[ORDER_ASSUMED] = "ordered only if threads communicated: one had observed it complete",
	[ORDER_INCIDENTAL] = "ordered in this run, but CUDA does not guarantee it",
	[ORDER_GUARANTEED] = "ordered, guaranteed",
};

static int is_stream_only(const struct order_link *link, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (link[i].reason != ORDER_STREAM)
			return 0;
	return count > 0;
}

/* Stream order needs no chain. */
static int say_same_stream(struct why *why)
{
	print(stdout, "%s: same stream, first ", verdicts[why->strength]);
	if (say_operation(why, why->earlier.call))
		return -1;
	fputs(", then ", stdout);
	if (say_operation(why, why->later.call))
		return -1;
	putchar('\n');
	return 0;
}

static int explain_steps(struct why *why, const struct order_link *link, size_t count)
{
	print(stdout, "%s\n    first ", verdicts[why->strength]);
	if (say_operation(why, why->earlier.call))
		return -1;
	putchar('\n');
	if (count)
		return say_chain(why, link, count);
	fputs("    and ", stdout);
	if (say_operation(why, why->later.call))
		return -1;
	putchar('\n');
	return 0;
}

static int explain(struct why *why)
{
	struct order_path *path;
	struct order_link *link = NULL;
	size_t count = 0;
	int rc = 0;

	if (why->strength >= ORDER_INCIDENTAL) {
		path = order_path_open(&why->db);
		rc = path ? order_path_find(path, why->later.call, why->earlier.call, why->strength,
				    &link, &count)
			  : -1;
		order_path_close(path);
	}
	if (rc >= 0)
		rc = is_stream_only(link, count) ? say_same_stream(why)
						 : explain_steps(why, link, rc > 0 ? count : 0);
	free(link);
	return rc;
}

static void say_times(const struct why *why)
{
	int64_t apart;

	if (why->earlier.finish == INT64_MIN || why->later.start == INT64_MIN)
		return;
	apart = why->later.start - why->earlier.finish;
	fputs("    in this run the second one started ", stdout);
	words_time(llabs(apart), stdout);
	puts(apart < 0 ? " before the first one ended" : " after the first one had ended");
}

/* The operations of a finding's worst instance, in operand. */
static int find_finding(struct why *why, const char *text, char operand[2][24])
{
	int64_t finding;
	sqlite3_stmt *q = NULL;
	int rc = -1;

	if (read_number(*text == '#' ? text + 1 : text, &finding)) {
		print(stderr,
			"cufence why: '%s' is no finding: give its number, or two operations\n",
			text);
		return -1;
	}
	q = db_prepare(&why->db,
		"SELECT (SELECT min(id) FROM operation WHERE call = f.other_call),"
		" (SELECT min(id) FROM operation WHERE call = f.call) FROM finding f WHERE id = ?");
	if (q && !db_bind(q, "i", finding))
		rc = db_step(q);
	for (int i = 0; i < 2 && rc > 0; i++) {
		if (sqlite3_column_type(q, i) == SQLITE_NULL)
			rc = -2;
		else
			snprintf(operand[i], sizeof(operand[i]), "%lld",
				(long long)sqlite3_column_int64(q, i));
	}
	sqlite3_finalize(q);
	if (!rc)
		print(stderr,
			"cufence why: there is no finding %lld (see \"cufence report --all\")\n",
			(long long)finding);
	if (rc == -2)
		print(stderr,
			"cufence why: finding %lld is not about two operations of the device: "
			"\"cufence report --finding %lld\" explains it\n",
			(long long)finding, (long long)finding);
	return rc > 0 ? 0 : -1;
}

static int find_ends(struct why *why, char *const *operand, int count)
{
	char found[2][24];
	char *const ends[2] = { found[0], found[1] };

	if (count == 1) {
		if (find_finding(why, operand[0], found))
			return -1;
		operand = ends;
	}
	if (find_end(why, operand[0], &why->earlier) || find_end(why, operand[1], &why->later))
		return -1;
	if (why->earlier.op != why->later.op)
		return 0;
	print(stderr, "cufence why: both are operation %lld: name two different ones\n",
		(long long)why->earlier.op);
	return -1;
}

static int answer(struct why *why)
{
	struct end swapped;

	if (why->earlier.call == why->later.call) {
		puts("both are parts of one call: a graph's edges or the call itself decide");
		return 0;
	}
	if (why->earlier.call > why->later.call) {
		swapped = why->earlier;
		why->earlier = why->later;
		why->later = swapped;
	}
	why->order = (struct order){ .db = &why->db };
	if (walk(&why->db, follow, why) && !why->done)
		return -1;
	if (!why->epoch.seq || !why->done) {
		puts("at least one of them is not in the order: its stream is not known, or it was "
		     "captured");
		return 0;
	}
	if (explain(why))
		return -1;
	say_times(why);
	return why_memory(&why->db, why->earlier.call, why->later.call);
}

/* "12" and "#12" are findings, not databases. */
static int is_number(const char *text)
{
	int64_t number;

	return !read_number(*text == '#' ? text + 1 : text, &number);
}

int cmd_why(const struct arguments *arguments)
{
	struct why why = { .done = 0 };
	int named = !is_number(arguments->operand[0]), count = arguments->count - named;
	int rc;

	if (count < 1 || count > 2) {
		print(stderr, "cufence why: give the number of a finding, or two operations%s\n",
			count ? "" : ", after the database");
		return EXIT_TROUBLE;
	}
	if (db_open(&why.db, named ? arguments->operand[0] : "cufence.db", DB_FOLLOW))
		return EXIT_TROUBLE;
	why.words = words_open(&why.db);
	why.db.run = why.words ? run_open(&why.db) : NULL;
	rc = !why.db.run || find_ends(&why, arguments->operand + named, count) || answer(&why);
	order_release(&why.order);
	words_close(why.words);
	run_close(why.db.run);
	db_close(&why.db);
	return rc ? EXIT_TROUBLE : 0;
}
