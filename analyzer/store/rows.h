/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes rows as ROW() has them.  db_add() is for all tables but the longest ones: 64 rows per
 * INSERT statement take less than half the time of one statement per row (0.3 instead of 0.7
 * microseconds for a row of three columns).
 *
 *	struct rows *edges = rows_open(db, TABLE_edge);
 *	if (!edges || rows_add(edges, ROW(edge, call, needs, cell_text("stream"))) ||
 *		rows_finish(edges))
 *		...
 *	rows_free(edges);
 *
 * A row whose key is there is left out if the table has `repeats` (schema.h).
 */
#ifndef CUFENCE_ROWS_H
#define CUFENCE_ROWS_H

#include "schema.h"

/* Writes a row.  Returns 0, or -1 after a message. */
int db_add(struct db *db, enum schema_id table, const void *row);

struct rows;

/* Returns NULL after a message. */
struct rows *rows_open(struct db *db, enum schema_id table);

/*
 * Adds a row of the table that was opened.  It is written at any time up to rows_finish(), until
 * which its text stays valid.  Returns 0, or -1 after a message.
 */
int rows_add(struct rows *rows, enum schema_id table, const void *row);

/* Writes all added rows; more may be added.  Returns 0, or -1 after a message. */
int rows_finish(struct rows *rows);

/* Unfinished rows may be lost.  NULL is allowed. */
void rows_free(struct rows *rows);

#endif
