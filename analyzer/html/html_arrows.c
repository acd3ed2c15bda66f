/* SPDX-License-Identifier: Apache-2.0 */
#include "html_arrows.h"

#include <stdlib.h>

#include "kinds.h"
#include "memory.h"

/* An operation's submission, sorted by stream. */
struct submitted {
	int64_t stream, call;
	int64_t item;
};

struct submissions {
	struct submitted *list;
	size_t count;
};

/* Event waits of streams, with the records that they saw. */
static const char fences_sql[] =
	"SELECT r.stream, r.id, c.stream, c.id FROM event_wait w JOIN call c ON c.id = w.call"
	" JOIN call r ON r.id = w.record JOIN call_type t ON t.id = c.type"
	" WHERE " KIND_WHERE("t", "family = 'event_wait'") " AND c.stream NOT NULL"
	" AND r.stream NOT NULL AND c.stream <> r.stream ORDER BY w.call";

static const char waits_sql[] = "SELECT op, call FROM wait WHERE op NOT NULL";
/* An operation held by an event is drawn as a fence. */
static const char holds_sql[] =
	"SELECT behind, op FROM hold WHERE behind NOT NULL AND reason <> 'event'";

/* The end of the last turn, and of one after which the loop was left, is one more begin. */
static const char turns_sql[] =
	"SELECT start FROM turn WHERE process = ?1"
	" UNION SELECT end FROM turn WHERE process = ?1 ORDER BY 1";

static int add_arrow(struct html_arrows *arrows, int64_t from, int64_t to)
{
	if (from == HTML_NO_ITEM || to == HTML_NO_ITEM)
		return 0;
	*array_push(arrows->arrow, arrows->count) = (struct html_arrow){ from, to };
	return 0;
}

static int arrow_order(const void *a, const void *b)
{
	const struct html_arrow *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static void sort_arrows(struct html_arrows *arrows)
{
	struct html_arrow *arrow = arrows->arrow;
	size_t count = 0;

	if (arrows->count)
		qsort(arrow, arrows->count, sizeof(*arrow), arrow_order);
	for (size_t i = 0; i < arrows->count; i++)
		if (!i || arrow_order(&arrow[i], &arrow[count - 1]))
			arrow[count++] = arrow[i];
	arrows->count = count;
}

/* --- fences --- */

static int submitted_order(const void *a, const void *b)
{
	const struct submitted *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return (x->item > y->item) - (x->item < y->item);
}

static int list_submissions(const struct html_timeline *timeline, struct submissions *of)
{
	const struct html_items *operations = &timeline->operations;

	of->list = calloc(operations->count + 1, sizeof(*of->list));
	if (!of->list) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	for (size_t i = 0; i < operations->count; i++) {
		const struct html_item *item = &operations->item[i];
		int64_t stream = timeline->lane[item->lane].id;

		if (item->call == DB_NULL || stream == DB_NULL)
			continue;
		of->list[of->count++] = (struct submitted){ stream, item->call,
			(int64_t)(timeline->calls.count + i) };
	}
	if (of->count)
		qsort(of->list, of->count, sizeof(*of->list), submitted_order);
	return 0;
}

/* A stream's first submission by that call or a later one. */
static size_t find_submission(const struct submissions *of, int64_t stream, int64_t call)
{
	const struct submitted key = { stream, call, 0 };
	size_t low = 0, high = of->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (submitted_order(&of->list[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last work before the record, and the first work after the wait. */
static int64_t before_call(const struct submissions *of, int64_t stream, int64_t call)
{
	size_t found = find_submission(of, stream, call);

	return found && of->list[found - 1].stream == stream ? of->list[found - 1].item
							     : HTML_NO_ITEM;
}

static int64_t after_call(const struct submissions *of, int64_t stream, int64_t call)
{
	size_t found = find_submission(of, stream, call);

	return found < of->count && of->list[found].stream == stream ? of->list[found].item
								     : HTML_NO_ITEM;
}

int html_arrows_fences(const struct html_timeline *timeline, struct html_arrows *arrows)
{
	struct submissions of = { 0 };
	sqlite3_stmt *q = db_prepare(timeline->db, fences_sql);
	int step = q ? list_submissions(timeline, &of) : -1;

	*arrows = (struct html_arrows){ 0 };
	while (!step && (step = db_step(q)) > 0)
		step = add_arrow(arrows,
			before_call(&of, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1)),
			after_call(&of, sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3)));
	sort_arrows(arrows);
	free(of.list);
	sqlite3_finalize(q);
	return step;
}

/* --- the rest --- */

static int read_pairs(const struct html_timeline *timeline, struct html_arrows *arrows,
	const char *sql, int to_call)
{
	sqlite3_stmt *q = db_prepare(timeline->db, sql);
	int step = q ? 0 : -1;

	*arrows = (struct html_arrows){ 0 };
	while (!step && (step = db_step(q)) > 0) {
		int64_t to = sqlite3_column_int64(q, 1);

		step = add_arrow(arrows,
			html_item_of_operation(timeline, sqlite3_column_int64(q, 0)),
			to_call ? html_item_of_call(timeline, to)
				: html_item_of_operation(timeline, to));
	}
	sort_arrows(arrows);
	sqlite3_finalize(q);
	return step;
}

int html_arrows_waits(const struct html_timeline *timeline, struct html_arrows *arrows)
{
	return read_pairs(timeline, arrows, waits_sql, 1);
}

int html_arrows_holds(const struct html_timeline *timeline, struct html_arrows *arrows)
{
	return read_pairs(timeline, arrows, holds_sql, 0);
}

static int write_arrows(const struct html_timeline *timeline, struct pack *pack,
	int (*read)(const struct html_timeline *, struct html_arrows *))
{
	struct html_arrows arrows;
	int rc = read(timeline, &arrows);
	int64_t before = 0;

	pack_number(pack, (int64_t)arrows.count);
	for (size_t i = 0; i < arrows.count; i++) {
		pack_number(pack, arrows.arrow[i].to - before);
		before = arrows.arrow[i].to;
	}
	for (size_t i = 0; i < arrows.count; i++)
		pack_number(pack, arrows.arrow[i].from - arrows.arrow[i].to);
	free(arrows.arrow);
	return rc;
}

/* Writes the turns of each process that has a loop, in the order of FACT_LOOPS. */
static int write_turns(const struct html_timeline *timeline, struct pack *pack, int64_t process)
{
	sqlite3_stmt *q = db_prepare(timeline->db, turns_sql);
	int64_t *begin = NULL, before = 0;
	size_t count = 0;
	int step = q ? db_bind(q, "i", process) : -1;

	while (step >= 0 && (step = db_step(q)) > 0)
		*array_push(begin, count) = sqlite3_column_int64(q, 0);
	pack_number(pack, (int64_t)count);
	for (size_t i = 0; i < count; i++) {
		pack_step(pack, begin[i], before);
		before = begin[i];
	}
	free(begin);
	sqlite3_finalize(q);
	return step;
}

static int write_loops(const struct html_timeline *timeline, struct pack *pack)
{
	sqlite3_stmt *q = db_prepare(timeline->db, "SELECT process FROM loop ORDER BY process");
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0)
		step = write_turns(timeline, pack, sqlite3_column_int64(q, 0));
	sqlite3_finalize(q);
	return step;
}

int html_arrows_write(const struct html_timeline *timeline, struct pack *pack)
{
	return write_arrows(timeline, pack, html_arrows_fences) ||
			write_arrows(timeline, pack, html_arrows_waits) ||
			write_arrows(timeline, pack, html_arrows_holds) ||
			write_loops(timeline, pack)
		? -1
		: 0;
}
