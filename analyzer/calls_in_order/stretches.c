/* SPDX-License-Identifier: Apache-2.0 */
#include "stretches.h"

#include <stdlib.h>

#include "memory.h"

int stretches_load(struct stretches *stretches, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT process, start, end, work FROM recording "
		"ORDER BY process, start");
	int rc = -1;

	*stretches = (struct stretches){ 0 };
	while (q && (rc = db_step(q)) > 0) {
		struct stretch stretch = { sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			sqlite3_column_int64(q, 2) };
		size_t count = stretches->limited_count;

		if (!count || stretches->limited[count - 1] != stretch.process)
			*array_push(stretches->limited, stretches->limited_count) = stretch.process;
		if (sqlite3_column_int(q, 3))
			*array_push(stretches->stretch, stretches->count) = stretch;
	}
	sqlite3_finalize(q);
	return rc;
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int stretches_find(const struct stretches *stretches, int64_t process, int64_t at)
{
	size_t low = 0, high = stretches->count;
	const struct stretch *found;

	if (!stretches->limited_count ||
		!bsearch(&process, stretches->limited, stretches->limited_count, sizeof(process),
			by_number))
		return 0;
	/* Finds the last one that does not start after `at`. */
	while (low < high) {
		const struct stretch *middle = &stretches->stretch[(low + high) / 2];

		if (middle->process < process ||
			(middle->process == process && middle->start <= at))
			low = (low + high) / 2 + 1;
		else
			high = (low + high) / 2;
	}
	found = low ? &stretches->stretch[low - 1] : NULL;
	return found && found->process == process && at < found->end ? (int)low : STRETCH_NONE;
}

void stretches_release(struct stretches *stretches)
{
	free(stretches->stretch);
	free(stretches->limited);
	*stretches = (struct stretches){ 0 };
}
