/* SPDX-License-Identifier: Apache-2.0 */
/* may_conflict(call, other) of SQL. */
#include <stdio.h>
#include <stdlib.h>

#include "access.h"

struct function {
	struct access_reader *reader;
	struct accesses one, other;
	int64_t first; /* call of one: queries keep it while they try others */
};

static void may_conflict(sqlite3_context *context, int count, sqlite3_value **value)
{
	struct function *function = sqlite3_user_data(context);
	int64_t first = sqlite3_value_int64(value[0]), second = sqlite3_value_int64(value[1]);

	if (first != function->first && access_read(function->reader, first, &function->one)) {
		sqlite3_result_error(context, "accesses cannot be read", -1);
		return;
	}
	function->first = first;
	if (access_read(function->reader, second, &function->other)) {
		sqlite3_result_error(context, "accesses cannot be read", -1);
		return;
	}
	sqlite3_result_int(context,
		!function->one.named || !function->other.named ||
			accesses_conflict(&function->one, &function->other) != OVERLAP_NONE);
}

static void destroy(void *arg)
{
	struct function *function = arg;

	access_close(function->reader);
	accesses_release(&function->one);
	accesses_release(&function->other);
	free(function);
}

int access_function_add(struct db *db)
{
	struct function *function = calloc(1, sizeof(*function));

	if (!function) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	function->reader = access_open(db);
	if (!function->reader) {
		destroy(function);
		return -1;
	}
	/* SQLite destroys it if this fails. */
	if (!sqlite3_create_function_v2(db->handle, "may_conflict", 2, SQLITE_UTF8, function,
		    may_conflict, NULL, NULL, destroy))
		return 0;
	fprintf(stderr, "cufence: %s\n", sqlite3_errmsg(db->handle));
	return -1;
}

void access_function_drop(struct db *db)
{
	sqlite3_create_function_v2(
		db->handle, "may_conflict", 2, SQLITE_UTF8, NULL, NULL, NULL, NULL, NULL);
}
