/* SPDX-License-Identifier: Apache-2.0 */
#include "set_up.h"

#include "map.h"
#include "run_columns.h"

/* The earlier operations of pairs in question. */
static const char pairs_sql[] =
	"SELECT h.id, h.other_call FROM hazard h JOIN loop l ON l.process = h.process "
	"JOIN call c ON c.id = h.other_call WHERE h.via NOT NULL AND h.confidence <> 'possible' "
	"AND h.rule <> 'accidental-order' AND c.enter < l.start";

/* Finds the sites of the calls in loops. */
static int find_sites(struct db *db, struct map *sites)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT process, start, end FROM loop");
	const struct run *run = db->run;
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t process = sqlite3_column_int64(q, 0);
		int64_t start = sqlite3_column_int64(q, 1), end = sqlite3_column_int64(q, 2);

		for (uint32_t id = 1; step > 0 && id < run_call_end(run); id++) {
			const struct run_call *call = run_call(run, id);

			if (call && call->enter >= start && call->enter < end &&
				run_payload(run, call)->process == process)
				map_set(sites, run_link(run, id)->site, 1);
		}
		if (step < 0)
			break;
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

int set_up_find(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, pairs_sql);
	sqlite3_stmt *lower =
		db_prepare(db, "UPDATE hazard SET confidence = 'possible' WHERE id = ?");
	struct map sites = { 0 };
	int step = -1, rc = q && lower ? 0 : -1, any = 0;

	while (!rc && (step = db_step(q)) > 0) {
		int64_t call = sqlite3_column_int64(q, 1);

		if (!any++)
			rc = find_sites(db, &sites);
		if (!rc && !map_get(&sites, run_link(db->run, call)->site, 0))
			rc = db_run(lower, "i", sqlite3_column_int64(q, 0));
	}
	sqlite3_finalize(q);
	sqlite3_finalize(lower);
	map_release(&sites);
	return rc || step < 0 ? -1 : 0;
}
