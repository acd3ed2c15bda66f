/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent NAME.db...: whether the device kept to the order that the engine calls guaranteed.
 *
 * No operation may have started more than a microsecond before the end of one that is ordered
 * before it.  A violation is a wrong rule, or something about the device that nobody knew.
 * Exempt are programmatic launches, which start early on purpose, records with invalid times, and
 * operations that ran in other streams than the one their call names: graphs have streams of
 * their own.  CUPTI 13.0 lets an unaligned copy of rows start when it was submitted (on an H200 it
 * ended right behind the kernel that it had to follow): only its end is judged.  Prints a line per
 * database and one per violation; exits 1 if there is any.
 */
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "order.h"
#include "walk.h"

enum { SLACK_NS = 1000 };

struct op {
	int64_t id, call, end;
	struct order_epoch epoch;
};

/* The rows of a query in order of call, its first column; row: the query is at a row. */
struct walk_cursor {
	sqlite3_stmt *rows;
	int row;
};

static int walk_cursor_step(struct walk_cursor *cursor)
{
	cursor->row = db_step(cursor->rows);
	return cursor->row < 0 ? -1 : 0;
}

static int walk_cursor_open(struct walk_cursor *cursor, struct db *db, const char *sql)
{
	cursor->rows = db_prepare(db, sql);
	return cursor->rows ? walk_cursor_step(cursor) : -1;
}

/*
 * Moves to the next row of call, skipping rows of earlier calls.  Returns 1, 0 without such a row,
 * or -1 after a message.
 */
static int walk_cursor_at(struct walk_cursor *cursor, int64_t call)
{
	while (cursor->row > 0 && sqlite3_column_int64(cursor->rows, 0) < call)
		if (walk_cursor_step(cursor))
			return -1;
	return cursor->row > 0 && sqlite3_column_int64(cursor->rows, 0) == call;
}

static void walk_cursor_close(struct walk_cursor *cursor)
{
	sqlite3_finalize(cursor->rows);
	cursor->rows = NULL;
}

struct check {
	struct db db;
	struct order order;
	struct walk_cursor rows; /* call, operation, start, end, in its stream */
	int64_t *soonest;        /* the least start of this row and all later ones */
	size_t row_count, row;
	struct op *open; /* some later operation started before these had ended */
	size_t open_count;
	size_t judged, exempt, pairs, violations;
};

/* clang-format off */
#define ROWS "SELECT o.call, o.id, o.start, o.end, o.stream IS c.stream, " \
	"t.name = 'cuMemcpy2DUnaligned_v2' FROM operation o JOIN call c ON c.id = o.call " \
	"JOIN call_type t ON t.id = c.type ORDER BY o.call, o.id"
/* clang-format on */

/* Without a start a row bounds nothing. */
static int read_starts(struct check *check)
{
	sqlite3_stmt *q = db_prepare(&check->db, ROWS);
	int rc = -1;

	while (q && (rc = db_step(q)) > 0)
		*array_push(check->soonest, check->row_count) =
			sqlite3_column_int64(q, 2) > 0 ? sqlite3_column_int64(q, 2) : WALK_NEVER;
	sqlite3_finalize(q);
	for (size_t i = check->row_count; i-- > 1;)
		if (check->soonest[i] < check->soonest[i - 1])
			check->soonest[i - 1] = check->soonest[i];
	return rc;
}

static void close_ended(struct check *check)
{
	size_t kept = 0;
	int64_t soonest = check->row < check->row_count ? check->soonest[check->row] : WALK_NEVER;

	for (size_t i = 0; i < check->open_count; i++)
		if (check->open[i].end - SLACK_NS > soonest)
			check->open[kept++] = check->open[i];
	check->open_count = kept;
}

static void judge(struct check *check, int64_t id, int64_t start, const struct walk_call *call)
{
	for (size_t i = 0; i < check->open_count; i++) {
		const struct op *earlier = &check->open[i];

		if (earlier->end - SLACK_NS <= start || earlier->call == call->id)
			continue;
		check->pairs++;
		if (order_before(&check->order, earlier->epoch) < ORDER_GUARANTEED)
			continue;
		check->violations++;
		printf("    operation %lld started %lld ns before operation %lld ended, which is "
		       "ordered before it\n",
			(long long)id, (long long)(earlier->end - start), (long long)earlier->id);
	}
}

static int take_row(struct check *check, const struct walk_call *call)
{
	sqlite3_stmt *q = check->rows.rows;
	int64_t start = sqlite3_column_int64(q, 2), end = sqlite3_column_int64(q, 3);

	check->row++;
	if (start <= 0 || end < start || !sqlite3_column_int(q, 4) || !check->order.epoch.seq ||
		call->attributes & LAUNCH_PROGRAMMATIC) {
		check->exempt++;
		return 0;
	}
	check->judged++;
	if (!sqlite3_column_int(q, 5))
		judge(check, sqlite3_column_int64(q, 1), start, call);
	*array_push(check->open, check->open_count) = (struct op){ .id = sqlite3_column_int64(q, 1),
		.call = call->id,
		.end = end,
		.epoch = check->order.epoch };
	return 0;
}

static int visit(void *arg, const struct walk_call *call)
{
	struct check *check = arg;
	int rc;

	if (order_step(&check->order, call))
		return -1;
	while ((rc = walk_cursor_at(&check->rows, call->id)) > 0)
		if (take_row(check, call) || walk_cursor_step(&check->rows))
			return -1;
	close_ended(check);
	return rc;
}

static int check_database(const char *path)
{
	struct check check = { .row = 0 };
	int rc;

	if (db_open(&check.db, path, 1))
		return -1;
	check.order = (struct order){ .db = &check.db };
	rc = read_starts(&check) || walk_cursor_open(&check.rows, &check.db, ROWS) ||
		walk(&check.db, visit, &check);
	if (!rc)
		printf("%s: %zu operations, %zu exempt, %zu pairs at once, %zu violations\n", path,
			check.judged, check.exempt, check.pairs, check.violations);
	walk_cursor_close(&check.rows);
	order_release(&check.order);
	db_close(&check.db);
	free(check.soonest);
	free(check.open);
	return rc || check.violations ? -1 : 0;
}

int main(int argc, char **argv)
{
	int rc = argc < 2;

	for (int i = 1; i < argc; i++)
		rc |= check_database(argv[i]) != 0;
	return rc;
}
