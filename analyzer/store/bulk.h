/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills tables with millions of rows, and indexes whose keys come in order.  Five times as fast as
 * INSERT, because pages are written directly in SQLite's stable file format
 * (sqlite.org/fileformat2.html; rows are its section 2.1, pages are in bulk_tree.h).
 *
 *	struct bulk *calls = bulk_open(db, "call");
 *	bulk_add(calls, "kiI", id, thread, parent);
 *	db_exec(db, "COMMIT");
 *	bulk_finish(calls);
 *	bulk_free(calls);
 *
 * Constraints are not checked, and other indexes not updated: create them afterwards.  For a
 * database in memory INSERT is used.  Single-threaded; no other writer of the database.
 */
#ifndef CUFENCE_BULK_H
#define CUFENCE_BULK_H

#include "db.h"

struct bulk;

/* Opens an empty table, or an index of one column of such a table; NULL after a message. */
struct bulk *bulk_open(struct db *db, const char *table);
struct bulk *bulk_open_index(struct db *db, const char *index);

/*
 * Adds a row with all its columns, types as in db_bind() without "d"; "k" is the INTEGER PRIMARY
 * KEY, the first column, which must increase.  Tables without one omit it.  Text and bytes are
 * copied.  Returns 0, or -1 after a message.
 */
int bulk_add(struct bulk *bulk, const char *types, ...);

/* Returns the id of the last row. */
int64_t bulk_last(const struct bulk *bulk);

/*
 * Adds a row's value, or DB_NULL, and id to an index: NULLs first, then by ascending value and id.
 */
int bulk_add_key(struct bulk *index, int64_t value, int64_t id);

/*
 * Call outside of a transaction: writes the rows to the table.  Returns 0, or -1 after a message.
 */
int bulk_finish(struct bulk *bulk);

/* Discards rows that were not finished.  NULL is allowed. */
void bulk_free(struct bulk *bulk);

#endif
