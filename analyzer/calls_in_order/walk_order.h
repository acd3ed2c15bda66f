/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a walk's calls for order only: objects that a call names besides its stream and event,
 * captured or contested calls, threads created and joined, memory freed, waited for or visible to
 * the host.
 */
#ifndef CUFENCE_WALK_ORDER_H
#define CUFENCE_WALK_ORDER_H

#include "callers.h"
#include "run_columns.h"
#include "walk_contested.h"

/* The rows of a query in order of call, its first column; row: the query is at a row. */
struct walk_cursor {
	sqlite3_stmt *rows;
	int row;
};

/*
 * walk_cursor_at() moves to the next row of call, skipping rows of earlier calls.  It returns 1, 0
 * without such a row, or -1 after a message.  The next use continues after that row.
 */
int walk_cursor_open(struct walk_cursor *cursor, struct db *db, const char *sql);
int walk_cursor_at(struct walk_cursor *cursor, int64_t call);
int walk_cursor_step(struct walk_cursor *cursor);
void walk_cursor_close(struct walk_cursor *cursor);

struct walk_order {
	const struct run *run;
	struct run_cursor objects, freed, operands, threads, launches, host_runs;
	struct contested contested;
	struct callers callers;
};

/* Returns 0, or -1 after a message; call walk_order_close() in both cases. */
int walk_order_open(struct walk_order *order, struct db *db, const struct run *run);
/* Returns 0, or -1 after a message. */
int walk_order_fill(struct walk_order *order, struct walk_call *call);
void walk_order_close(struct walk_order *order);

#endif
