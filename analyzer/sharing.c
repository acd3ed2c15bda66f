/* SPDX-License-Identifier: Apache-2.0 */
#include "sharing.h"

#include <stdlib.h>

struct sharing {
	sqlite3_stmt *touch;
};

enum touch { TOUCH_NONE, TOUCH_MAYBE, TOUCH_SURELY };

/* The pointer of a launch lies within the bytes, or before them; a copy's bytes overlap or not. */
static const char touch_sql[] =
	"SELECT CASE WHEN o.role = 'word' THEN"
	"  CASE WHEN o.address < a.address THEN 1 WHEN o.address < a.address + ac.bytes THEN 2"
	"  ELSE 0 END "
	" WHEN o.address < a.address + ac.bytes AND o.address + oc.bytes > a.address THEN 2 "
	" ELSE 0 END AS touch "
	"FROM operand a JOIN call ac ON ac.id = a.call "
	"JOIN operand o ON o.allocation = a.allocation JOIN call oc ON oc.id = o.call "
	"WHERE a.call = ? AND o.call = ? ORDER BY touch DESC LIMIT 1";

struct sharing *sharing_open(struct db *db)
{
	struct sharing *sharing = calloc(1, sizeof(*sharing));

	if (!sharing)
		return NULL;
	sharing->touch = db_prepare(db, touch_sql);
	if (sharing->touch)
		return sharing;
	free(sharing);
	return NULL;
}

void sharing_close(struct sharing *sharing)
{
	if (!sharing)
		return;
	sqlite3_finalize(sharing->touch);
	free(sharing);
}

static int touch_of(struct sharing *sharing, int64_t copy, int64_t call)
{
	int rc = db_bind(sharing->touch, "ii", copy, call) ? -1 : db_step(sharing->touch);
	int touch = rc > 0 ? sqlite3_column_int(sharing->touch, 0) : TOUCH_NONE;

	sqlite3_reset(sharing->touch);
	return rc < 0 ? -1 : touch;
}

int sharing_between(struct sharing *sharing, int64_t copy, int64_t call, int64_t other)
{
	int touch = touch_of(sharing, copy, call), other_touch;

	if (touch <= TOUCH_NONE)
		return touch;
	other_touch = touch_of(sharing, copy, other);
	if (other_touch <= TOUCH_NONE)
		return other_touch;
	return touch == other_touch;
}
