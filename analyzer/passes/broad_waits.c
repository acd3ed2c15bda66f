/* SPDX-License-Identifier: Apache-2.0 */
#include "broad_waits.h"

#include <stdlib.h>

#include "broad_credit.h"
#include "constants.h"
#include "kinds.h"

static const char waits_sql[] =
	"SELECT w.call, o.process, o.call, o.end FROM wait w JOIN call c ON c.id = w.call "
	"JOIN call_type t ON t.id = c.type JOIN work o ON o.id = w.op "
	"WHERE w.kind = 'explicit' AND w.waited >= ? AND o.call NOT NULL "
	"AND " KIND_WHERE("t", "family = 'wait' AND waits <> 'event'");

int broad_waits_find(struct broad_waits *waits, struct db *db, struct broad_places *places,
	struct findings *findings)
{
	sqlite3_stmt *q = db_prepare(db, waits_sql);
	int rc = q ? db_bind(q, "i", (int64_t)BLOCKED_MIN_NS) : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		int64_t call = sqlite3_column_int64(q, 0);
		struct broad_place *place = broad_place_need(places, findings, call);
		struct broad_wait *wait =
			place ? idmap_need(&waits->map, call, sizeof(*wait)) : NULL;

		rc = 0;
		if (!wait)
			continue;
		place->waits++;
		*wait = (struct broad_wait){ call, sqlite3_column_int64(q, 1),
			sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3) };
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
