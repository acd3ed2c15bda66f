/* SPDX-License-Identifier: Apache-2.0 */
/* may_conflict(call, other) and may_meet(call, other) of SQL. */
#include <stdio.h>
#include <stdlib.h>

#include "access.h"
#include "print.h"

struct function {
	struct access_reader *reader;
	int reaches; /* some kernel does what it was not given memory for */
};

/* The accesses of both calls; -1 and an error of SQL. */
static int read_both(sqlite3_context *context, sqlite3_value **value,
	const struct accesses *accesses[2])
{
	struct function *function = sqlite3_user_data(context);

	for (int i = 0; i < 2; i++) {
		accesses[i] = access_read(function->reader, sqlite3_value_int64(value[i]));
		if (!accesses[i]) {
			sqlite3_result_error(context, "accesses cannot be read", -1);
			return -1;
		}
	}
	return 0;
}

static void may_conflict(sqlite3_context *context, int count, sqlite3_value **value)
{
	struct function *function = sqlite3_user_data(context);
	const struct accesses *of[2];

	if (!read_both(context, value, of))
		sqlite3_result_int(context,
			!of[0]->named || !of[1]->named ||
				access_compare(function->reader, of[0], of[1]) != OVERLAP_NONE);
}

static void may_meet(sqlite3_context *context, int count, sqlite3_value **value)
{
	struct function *function = sqlite3_user_data(context);
	const struct accesses *of[2];

	if (!function->reaches)
		sqlite3_result_int(context, 0);
	else if (!read_both(context, value, of))
		sqlite3_result_int(context, accesses_meet(of[0], of[1]));
}

static void destroy(void *arg)
{
	struct function *function = arg;

	access_close(function->reader);
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
	function->reaches = access_some_reach(db);
	/* SQLite destroys it if this fails. */
	if (!sqlite3_create_function_v2(db->handle, "may_conflict", 2, SQLITE_UTF8, function,
		    may_conflict, NULL, NULL, destroy) &&
		!sqlite3_create_function_v2(db->handle, "may_meet", 2, SQLITE_UTF8, function,
			may_meet, NULL, NULL, NULL))
		return 0;
	print(stderr, "cufence: %s\n", sqlite3_errmsg(db->handle));
	return -1;
}

void access_function_drop(struct db *db)
{
	sqlite3_create_function_v2(db->handle, "may_meet", 2, SQLITE_UTF8, NULL, NULL, NULL, NULL,
		NULL);
	sqlite3_create_function_v2(db->handle, "may_conflict", 2, SQLITE_UTF8, NULL, NULL, NULL,
		NULL, NULL);
}
