/* SPDX-License-Identifier: Apache-2.0 */
#include "order_loss.h"

/* Adds a row for each process that continues after the call, with its number of calls before it. */
/* clang-format off */
static const char add_sql[] =
	"INSERT INTO loss SELECT c.process, '" ORDER_LOSS "', sum(c.id < ?1) FROM call c "
	"JOIN call_type t ON t.id = c.type WHERE NOT t.runtime AND c.id < ?2 GROUP BY c.process "
	"HAVING max(c.id) >= ?1 AND NOT EXISTS "
	"(SELECT 1 FROM loss l WHERE l.process = c.process AND l.reason = '" ORDER_LOSS "')";
/* clang-format on */

int order_loss_add(struct db *db, int64_t call, int64_t end)
{
	sqlite3_stmt *q = call ? db_prepare(db, add_sql) : NULL;
	int rc = call ? -1 : 0;

	if (q)
		rc = db_run(q, "ii", call, end);
	sqlite3_finalize(q);
	return rc;
}
