/* SPDX-License-Identifier: Apache-2.0 */
/* may_conflict(call, other) and may_meet(call, other) of SQL. */
#include <stdio.h>
#include <stdlib.h>

#include "access.h"
#include "print.h"

struct function {
	struct access_reader *reader;
	struct accesses one, other;
	int64_t first; /* call of one: queries keep it while they try others */
	int reaches;   /* some kernel does what it was not given memory for */
};

/* Reads the accesses of both calls; -1 and an error of SQL. */
static int read_both(sqlite3_context *context, struct function *function, sqlite3_value **value)
{
	int64_t first = sqlite3_value_int64(value[0]), second = sqlite3_value_int64(value[1]);

	if ((first == function->first || !access_read(function->reader, first, &function->one)) &&
		!access_read(function->reader, second, &function->other)) {
		function->first = first;
		return 0;
	}
	sqlite3_result_error(context, "accesses cannot be read", -1);
	return -1;
}

static void may_conflict(sqlite3_context *context, int count, sqlite3_value **value)
{
	struct function *function = sqlite3_user_data(context);

	if (!read_both(context, function, value))
		sqlite3_result_int(context,
			!function->one.named || !function->other.named ||
				accesses_conflict(&function->one, &function->other) !=
					OVERLAP_NONE);
}

static void may_meet(sqlite3_context *context, int count, sqlite3_value **value)
{
	struct function *function = sqlite3_user_data(context);

	if (!function->reaches)
		sqlite3_result_int(context, 0);
	else if (!read_both(context, function, value))
		sqlite3_result_int(context, accesses_meet(&function->one, &function->other));
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
