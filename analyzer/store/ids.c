/* SPDX-License-Identifier: Apache-2.0 */
#include "ids.h"

int ids_read(struct map *ids, struct db *db, const char *sql, uint64_t value)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		map_set(ids, (uint64_t)sqlite3_column_int64(q, 0),
			sqlite3_column_count(q) > 1 ? (uint64_t)sqlite3_column_int64(q, 1) : value);
	sqlite3_finalize(q);
	return step;
}
