/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills tables with millions of rows, and indexes whose keys come in order.  Five times as fast as
 * INSERT, because pages are written directly in SQLite's stable file format
 * (sqlite.org/fileformat2.html; rows are its section 2.1, pages are in bulk_tree.h).
 *
 *	struct bulk *launches = bulk_open(db, TABLE_launch, relay);
 *	bulk_add(launches, ROW(launch, call, shape));
 *	relay_end(relay);
 *	db_exec(db, "COMMIT");
 *	bulk_finish(&launches, 1);
 *	bulk_free(launches);
 *
 * Constraints are not checked, and other indexes not updated: create them afterwards.  For a
 * database in memory INSERT is used.  Rows become pages on the thread of a relay.  Otherwise
 * single-threaded; no other writer of the database.
 */
#ifndef CUFENCE_BULK_H
#define CUFENCE_BULK_H

#include "id_shift.h"
#include "relay.h"

struct bulk;

/*
 * Opens an empty table, or an index of one column of such a table; NULL after a message.  The relay
 * is the caller's, which frees it before it frees this.
 */
struct bulk *bulk_open(struct db *db, enum schema_id table, struct relay *relay);
struct bulk *bulk_open_index(struct db *db, const char *index, struct relay *relay);

/*
 * Adds a row as ROW() has it, of the table that was opened.  A key of type KEY or KEY_REF must
 * increase.  Text and bytes stay valid until relay_end().  Returns 0, or -1 after a message.
 */
int bulk_add(struct bulk *bulk, enum schema_id table, const void *row);

/* Returns the id of the last row of a table without a key, whose ids count from 1. */
int64_t bulk_last(const struct bulk *bulk);

/*
 * Adds a row's value, or DB_NULL, and id to an index: NULLs first, then by ascending value and id.
 */
int bulk_add_key(struct bulk *index, int64_t value, int64_t id);

/*
 * After relay_end() of both: moves the rows of another one to the end, or the keys of an index
 * whose values are ids of a table.  Two threads may do this for two tables or indexes.  Returns 0,
 * or -1 after a message.
 */
int bulk_append(struct bulk *bulk, struct bulk *from, const struct id_shift *shift);
int bulk_append_keys(struct bulk *index, struct bulk *from, const struct id_shift *shift,
	enum schema_id values, enum schema_id rows);

/* The database has the rows itself, as it is in memory: bulk_append() moves nothing. */
int bulk_in_memory(const struct bulk *bulk);

/*
 * Call outside of a transaction, after relay_end(): writes the rows to their tables, all of one
 * database, some at the same time.  Returns 0, or -1 after a message.
 */
int bulk_finish(struct bulk *const *bulk, size_t count);

/* Discards rows that were not finished.  NULL is allowed. */
void bulk_free(struct bulk *bulk);

#endif
