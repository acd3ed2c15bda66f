/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a walk adds to its calls for the order: objects they name besides their stream and event,
 * captured or contested, threads made and joined, memory freed, waited for or seen by the host.
 */
#ifndef CUFENCE_WALK_ORDER_H
#define CUFENCE_WALK_ORDER_H

#include "run_columns.h"
#include "walk_contested.h"

/* Rows of a query in order of call, the first column; row says whether it stands on one. */
struct walk_cursor {
	sqlite3_stmt *rows;
	int row;
};

/* Moves the cursor to the next row of call, passing those of earlier calls: 1, 0 without one,
 * -1 after a message.  The next use moves on. */
int walk_cursor_open(struct walk_cursor *cursor, struct db *db, const char *sql);
int walk_cursor_at(struct walk_cursor *cursor, int64_t call);
int walk_cursor_step(struct walk_cursor *cursor);
void walk_cursor_close(struct walk_cursor *cursor);

struct walk_order {
	const struct run *run;
	struct run_cursor objects, freed, operands, threads, launches;
	struct contested contested;
};

/* 0, or -1 after a message; walk_order_close() even then. */
int walk_order_open(struct walk_order *order, const struct run *run);
void walk_order_fill(struct walk_order *order, struct walk_call *call);
void walk_order_close(struct walk_order *order);

#endif
