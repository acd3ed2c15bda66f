/* SPDX-License-Identifier: Apache-2.0 */
#include "call_place.h"

#include <stdio.h>

#include "hold_plan.h"
#include "record.h"

/* As the recorder adds them up (preload/delay/holding.c), without those inlined there. */
static const char frames_sql[] =
	"SELECT f.address, m.path, f.address - m.start + m.file_offset,"
	" m.build_id FROM frame f"
	" LEFT JOIN module m ON m.id = f.module WHERE f.site = ? ORDER BY f.depth";

/* From hexadecimal digits, of which there may be fewer. */
static void read_build_id(const char *text, uint8_t id[20])
{
	memset(id, 0, 20);
	for (int i = 0; i < 20 && sscanf(text + 2 * i, "%2hhx", &id[i]) == 1; i++)
		if (!text[2 * i + 1])
			break;
}

int call_place_read(struct db *db, int64_t site, uint64_t *place)
{
	sqlite3_stmt *q = db_prepare(db, frames_sql);
	int64_t last = 0;
	uint8_t id[20];
	int step = q ? db_bind(q, "i", site) : -1, count = 0;

	*place = BYTE_HASH_SEED;
	while (!step && (step = db_step(q)) > 0) {
		int64_t address = sqlite3_column_int64(q, 0);

		step = 0;
		if (count++ && address == last)
			continue;
		last = address;
		if (IS_SCRIPT_FRAME((uint64_t)address)) {
			*place = hold_place_add(*place, "", NULL, SCRIPT_OFFSET((uint64_t)address));
			continue;
		}
		read_build_id(db_text(q, 3), id);
		*place = hold_place_add(*place, db_text(q, 1), id,
			(uint64_t)sqlite3_column_int64(q, 2));
	}
	sqlite3_finalize(q);
	return step ? -1 : count;
}
