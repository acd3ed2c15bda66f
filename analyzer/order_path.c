/* SPDX-License-Identifier: Apache-2.0 */
#include "order_path.h"

#include <stdlib.h>
#include <string.h>

#define PATH_STEPS 4096
#define PATH_SLOTS (4 * PATH_STEPS)

struct order_path {
	sqlite3_stmt *needs;
	int64_t todo[PATH_STEPS];
	size_t todo_count, seen_count;
	int64_t seen[PATH_SLOTS]; /* a hash set of calls; 0: free */
};

struct order_path *order_path_open(struct db *db)
{
	struct order_path *path = calloc(1, sizeof(*path));

	if (!path)
		return NULL;
	path->needs = db_prepare(db, "SELECT needs FROM dependency "
		"WHERE call = ? AND needs >= ? AND reason NOT IN ('host', 'start', 'afterwards', 'incident') "
		"AND NOT (reason = 'legacy' AND call = ?) ORDER BY needs");
	if (path->needs)
		return path;
	free(path);
	return NULL;
}

void order_path_close(struct order_path *path)
{
	if (!path)
		return;
	sqlite3_finalize(path->needs);
	free(path);
}

/* Notes a call to look at; 0 if there is no room left. */
static int add(struct order_path *path, int64_t call)
{
	size_t at = (uint64_t)call * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (PATH_SLOTS - 1);

	while (path->seen[at] && path->seen[at] != call)
		at = (at + 1) & (PATH_SLOTS - 1);
	if (path->seen[at])
		return 1;
	if (path->seen_count == PATH_STEPS)
		return 0;
	path->seen[at] = call;
	path->seen_count++;
	path->todo[path->todo_count++] = call;
	return 1;
}

int order_path_exists(struct order_path *path, int64_t call, int64_t earlier)
{
	return order_path_exists_moved(path, call, earlier, 0);
}

int order_path_exists_moved(struct order_path *path, int64_t call, int64_t earlier, int64_t moved)
{
	int rc = 0;

	memset(path->seen, 0, sizeof(path->seen));
	path->todo_count = path->seen_count = 0;
	add(path, call);
	while (path->todo_count) {
		int64_t next = path->todo[--path->todo_count];

		if (next == earlier)
			return 1;
		if (db_bind(path->needs, "iii", next, earlier, moved))
			return -1;
		while ((rc = db_step(path->needs)) > 0) {
			if (!add(path, sqlite3_column_int64(path->needs, 0)))
				return 1;
		}
		if (rc)
			return -1;
	}
	return 0;
}
