/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inserts many rows into one table, with 64 rows per INSERT statement: less than half the time of
 * one statement per row (0.3 instead of 0.7 microseconds for a row of three columns).
 *
 *	struct rows *edges = rows_open(db, "INSERT OR IGNORE INTO edge", "iic");
 *	if (!edges || rows_add(edges, call, needs, "stream") || rows_finish(edges))
 *		...
 *	rows_free(edges);
 *
 * types has all columns of the table: i int64_t, I int64_t or DB_NULL, c text or NULL that stays
 * valid until rows_finish().  Rows may be written at any time up to rows_finish().
 */
#ifndef CUFENCE_ROWS_H
#define CUFENCE_ROWS_H

#include "db.h"

struct rows;

/*
 * into: the statement up to VALUES; into and types must be constants.  Returns NULL after a
 * message.
 */
struct rows *rows_open(struct db *db, const char *into, const char *types);

/* Adds a row with a value for each type.  Returns 0, or -1 after a message. */
int rows_add(struct rows *rows, ...);

/* Writes all added rows; more may be added.  Returns 0, or -1 after a message. */
int rows_finish(struct rows *rows);

/* Unfinished rows may be lost.  NULL is allowed. */
void rows_free(struct rows *rows);

#endif
