/* SPDX-License-Identifier: Apache-2.0 */
#include "loads_late.h"

#include "constants.h"
#include "map.h"
#include "run_columns.h"

/* clang-format off */
static const char tables_sql[] =
	"DROP TABLE IF EXISTS temp.first_wait; DROP TABLE IF EXISTS temp.loading_place;"
	"CREATE TEMP TABLE first_wait (process INTEGER NOT NULL, context INTEGER NOT NULL,"
	" first INTEGER NOT NULL, PRIMARY KEY (process, context)) WITHOUT ROWID;"
	"CREATE TEMP TABLE loading_place (site INTEGER PRIMARY KEY);";

static const char any_sql[] =
	"SELECT EXISTS (SELECT 1 FROM overhead lo JOIN call lc ON lc.id = lo.call "
	"WHERE " LOADS_LATE("lc") ")";

/* ?1: LOADS_PART */
static const char places_sql[] =
	"INSERT INTO temp.loading_place "
	"SELECT ll.site FROM (SELECT lc.site, count(DISTINCT lc.id) AS loads FROM overhead lo "
	" JOIN call lc ON lc.id = lo.call WHERE " LOADS_LATE("lc") " GROUP BY lc.site) ll "
	"JOIN (SELECT ls.site, count(*) AS launches FROM call ls JOIN call_type lk "
	" ON lk.id = ls.type WHERE " IS_LAUNCH("lk") " AND NOT lk.runtime AND ls.site IN "
	" (SELECT lx.site FROM overhead ly JOIN call lx ON lx.id = ly.call) GROUP BY ls.site) ln "
	"ON ln.site = ll.site WHERE ln.launches <= ?1 * ll.loads";
/* clang-format on */

static int find_first_waits(struct db *db)
{
	const struct run *run = db->run;
	struct map seen = { 0 };
	sqlite3_stmt *insert = db_prepare(db, "INSERT INTO temp.first_wait VALUES (?, ?, ?)");
	int rc = insert ? 0 : -1;

	for (uint32_t id = 1; !rc && id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		const struct run_payload *payload = call ? run_payload(run, call) : NULL;
		uint64_t key;

		if (!call || !call_is_wait(call->kind))
			continue;
		key = (uint64_t)payload->process << 32 | payload->context;
		if (map_get(&seen, key, 0))
			continue;
		rc = map_set(&seen, key, 1) ||
			db_run(insert, "iii", (int64_t)payload->process, (int64_t)payload->context,
				(int64_t)id);
	}
	sqlite3_finalize(insert);
	map_release(&seen);
	return rc ? -1 : 0;
}

/* Most runs load nothing late: then no launches are counted. */
static int find_places(struct db *db)
{
	int64_t any = db_int(db, any_sql, -1);
	sqlite3_stmt *insert;
	int rc;

	if (any <= 0)
		return (int)any;
	insert = db_prepare(db, places_sql);
	rc = insert ? db_run(insert, "i", (int64_t)LOADS_PART) : -1;
	sqlite3_finalize(insert);
	return rc;
}

int loads_late_prepare(struct db *db)
{
	return db_exec(db, tables_sql) || find_first_waits(db) || find_places(db) ? -1 : 0;
}
