/* SPDX-License-Identifier: Apache-2.0 */
#include "median.h"

#include <stdlib.h>

#include "memory.h"
#include "print.h"

struct values {
	int64_t *value;
	size_t count;
};

static void take(sqlite3_context *context, int count, sqlite3_value **argument)
{
	struct values *values = sqlite3_aggregate_context(context, sizeof(*values));

	if (!values || sqlite3_value_type(*argument) == SQLITE_NULL)
		return;
	*array_push(values->value, values->count) = sqlite3_value_int64(*argument);
}

static int compare(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

	return (a > b) - (a < b);
}

static void finish(sqlite3_context *context)
{
	struct values *values = sqlite3_aggregate_context(context, 0);
	const int64_t *middle;

	if (!values || !values->count)
		return; /* NULL */
	qsort(values->value, values->count, sizeof(*values->value), compare);
	middle = values->value + values->count / 2;
	/* Of an even number the two in the middle; both halves as one value may be large. */
	sqlite3_result_int64(context,
		values->count % 2
			? *middle
			: middle[-1] + (*middle - middle[-1]) / 2 + (*middle - middle[-1]) % 2);
	free(values->value);
}

int median_add(struct db *db)
{
	if (sqlite3_create_function(db->handle, "median", 1,
		    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, NULL, take,
		    finish) == SQLITE_OK)
		return 0;
	print(stderr, "cufence: %s\n", sqlite3_errmsg(db->handle));
	return -1;
}
