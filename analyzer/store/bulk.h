/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills tables that have millions of rows, and indexes of which keys come in order: five times as
 * fast as INSERT, because pages are written in the form that SQLite promises to keep
 * (sqlite.org/fileformat2.html; rows are its section 2.1, pages are in bulk_tree.h).
 *
 *	struct bulk *calls = bulk_open(db, "call");
 *	bulk_add(calls, "kiI", id, thread, parent);
 *	db_exec(db, "COMMIT");
 *	bulk_finish(calls);
 *	bulk_free(calls);
 *
 * Constraints are not checked, other indexes not kept: they are to be made afterwards.  A database
 * in memory has no pages to write: its rows are inserted.  One thread, one writer of the database.
 */
#ifndef CUFENCE_BULK_H
#define CUFENCE_BULK_H

#include "db.h"

struct bulk;

/* For a table that is empty, or an index of one column of such a table; NULL after a message. */
struct bulk *bulk_open(struct db *db, const char *table);
struct bulk *bulk_open_index(struct db *db, const char *index);

/*
 * A row: all its columns as in db_bind(), without "d"; "k" is the INTEGER PRIMARY KEY, the
 * first column, which must grow.  Tables without one have none.  Text and bytes are copied.  0, or
 * -1 after a message.
 */
int bulk_add(struct bulk *bulk, const char *types, ...);

/* The id of the last row. */
int64_t bulk_last(const struct bulk *bulk);

/*
 * A row's value, or DB_NULL, and id in an index: NULLs come first, then values grow, and of one
 * value ids.
 */
int bulk_add_key(struct bulk *index, int64_t value, int64_t id);

/* Outside of a transaction: the rows are in the table.  0, or -1 after a message. */
int bulk_finish(struct bulk *bulk);

/* Rows that were not finished are gone.  NULL is nothing. */
void bulk_free(struct bulk *bulk);

#endif
