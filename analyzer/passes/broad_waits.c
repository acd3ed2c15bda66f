/* SPDX-License-Identifier: Apache-2.0 */
#include "broad_waits.h"

#include <stdlib.h>

#include "broad_credit.h"
#include "constants.h"
#include "run_columns.h"

static const char waits_sql[] =
	"SELECT call, op FROM wait WHERE kind = 'explicit' AND waited >= ? ORDER BY id";

/* For a stream or the device, until the end of a known call's operation. */
static int is_broad(const struct run *run, int64_t call, int64_t op)
{
	const struct run_call *row = run_call(run, call);
	const struct run_work *behind = run_work(run, op);

	return row && behind && behind->call && call_is_wait(row->kind) &&
		kind_waits(row->kind) != WAITS_EVENT;
}

int broad_waits_find(struct broad_waits *waits, struct db *db, struct broad_places *places,
	struct findings *findings)
{
	sqlite3_stmt *q = db_prepare(db, waits_sql);
	int rc = q ? db_bind(q, "i", (int64_t)BLOCKED_MIN_NS) : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		int64_t call = sqlite3_column_int64(q, 0), op = sqlite3_column_int64(q, 1);
		const struct run_work *behind = run_work(db->run, op);
		struct broad_place *place;
		struct broad_wait *wait;

		rc = 0;
		if (!is_broad(db->run, call, op))
			continue;
		place = broad_place_need(places, findings, call);
		wait = place ? idmap_need(&waits->map, call, sizeof(*wait)) : NULL;
		if (!wait)
			continue;
		place->waits++;
		*wait = (struct broad_wait){ call, run_where(db->run, behind)->process,
			behind->call, run_end(db->run, behind, op) };
		if (!idmap_need(&waits->behind, wait->behind_call, sizeof(struct broad_behind)))
			rc = -1;
	}
	sqlite3_finalize(q);
	return rc;
}

void broad_waits_release(struct broad_waits *waits)
{
	idmap_release(&waits->map, free);
	idmap_release(&waits->behind, free);
}
