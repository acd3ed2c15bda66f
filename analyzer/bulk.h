/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills a table that has millions of rows: five times as fast as INSERT, because it writes the
 * table's pages itself, in the form that SQLite promises to keep until 2050 ("Database File
 * Format", sqlite.org/fileformat2.html, sections 1.6 and 2.1).  Rows come in order of their ids, so
 * that a page is written when it is full and never looked at again.
 *
 *	struct bulk *calls = bulk_open(db, "call");
 *	bulk_add(calls, "kiI", id, thread, parent);
 *	db_exec(db, "COMMIT");
 *	bulk_finish(calls);
 *	bulk_free(calls);
 *
 * Rows are kept in a file without a name beside the database until bulk_finish() appends them to
 * it.  Constraints are not checked, indexes not kept: they are to be made afterwards.  A database
 * in memory has no pages to write: its rows are inserted.  One thread, one writer of the database.
 */
#ifndef CUFENCE_BULK_H
#define CUFENCE_BULK_H

#include "db.h"

struct bulk;

/* For a table that is empty and has no index yet; NULL after a message. */
struct bulk *bulk_open(struct db *db, const char *table);

/*
 * A row: all its columns as in db_bind(), without "d" and "b"; "k" is the INTEGER PRIMARY KEY, the
 * first column, which must grow.  Tables without one have none.  Text is copied.  0, or -1 after
 * a message.
 */
int bulk_add(struct bulk *bulk, const char *types, ...);

/* Outside of a transaction: the rows are in the table.  0, or -1 after a message. */
int bulk_finish(struct bulk *bulk);

/* Rows that were not finished are gone.  NULL is nothing. */
void bulk_free(struct bulk *bulk);

#endif
