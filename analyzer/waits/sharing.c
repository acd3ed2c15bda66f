/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"
#include "sharing.h"

#include <stdlib.h>

struct sharing {
	sqlite3_stmt *touch;
	struct access_reader *reader;
};

enum touch { TOUCH_NONE, TOUCH_MAYBE, TOUCH_SURELY, TOUCH_GRAPH };

/*
 * Compares a launch's pointer with a copy's bytes (in them, or before them), or the bytes of two
 * copies.  Variables are left out: a copy into a variable could be replaced by an argument.
 */
/* clang-format off */
#define END(operand, call) \
	operand ".address + ifnull((SELECT x.span FROM extent x WHERE x.call = " operand ".call" \
	" AND x.role = " operand ".role AND x.item = ifnull(" operand ".offset, 0)), " \
	call ".bytes)"
static const char touch_sql[] =
	"SELECT CASE o.role WHEN 'word' THEN CASE WHEN o.address < a.address THEN 1"
	"   WHEN o.address < " END("a", "ac") " THEN 2 ELSE 0 END"
	"  WHEN 'node' THEN 3"
	"  ELSE CASE WHEN o.address < " END("a", "ac") " AND " END("o", "oc") " > a.address"
	"   THEN 2 ELSE 0 END END AS touch"
	" FROM operand a JOIN call ac ON ac.id = a.call"
	" JOIN operand o ON o.allocation = a.allocation JOIN call oc ON oc.id = o.call"
	" WHERE a.call = ? AND o.call = ?"
	" AND NOT EXISTS (SELECT 1 FROM variable v WHERE v.allocation = a.allocation)"
	" ORDER BY touch DESC LIMIT 1";
/* clang-format on */

struct sharing *sharing_open(struct db *db, struct access_reader *reader)
{
	struct sharing *sharing = xcalloc(1, sizeof(*sharing));

	sharing->touch = db_prepare(db, touch_sql);
	sharing->reader = reader;
	if (sharing->touch)
		return sharing;
	sharing_close(sharing);
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
	const struct accesses *one, *other;
	enum access_overlap most = OVERLAP_NONE;

	sqlite3_reset(sharing->touch);
	if (rc < 0 || touch != TOUCH_GRAPH)
		return rc < 0 ? -1 : touch;
	/* Compares the accesses of the graph's nodes with the copy's bytes. */
	one = access_read(sharing->reader, copy);
	other = one ? access_read(sharing->reader, call) : NULL;
	if (!other)
		return -1;
	for (size_t i = 0; i < one->count; i++)
		for (size_t k = 0; k < other->count; k++) {
			enum access_overlap found =
				access_overlap(&one->access[i], &other->access[k]);

			most = found > most ? found : most;
		}
	return most == OVERLAP_SURE     ? TOUCH_SURELY
		: most == OVERLAP_MAYBE ? TOUCH_MAYBE
					: TOUCH_NONE;
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
