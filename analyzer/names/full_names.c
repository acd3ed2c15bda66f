/* SPDX-License-Identifier: Apache-2.0 */
#include "full_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"

/* Messages are stored with short names. */
static const char tables_sql[] =
	"CREATE TEMP TABLE kernel_name (kernel INTEGER PRIMARY KEY, whole, label);"
	"CREATE TEMP TABLE finding AS SELECT * FROM main.finding;"
	"CREATE TEMP TABLE finding_place AS SELECT * FROM main.finding_place;"
	"CREATE TEMP TABLE finding_race AS SELECT * FROM main.finding_race;"
	"CREATE INDEX temp.place_of_finding ON finding_place (finding);"
	"CREATE INDEX temp.place_id ON finding_place (id);"
	"UPDATE temp.finding SET message = whole_names(message);"
	"UPDATE temp.finding_place SET message = whole_names(message), fix = whole_names(fix);"
	"UPDATE temp.finding_race SET message = whole_names(message);"
	"INSERT INTO temp.kernel_name SELECT kernel, whole, whole FROM main.kernel_name;";

/* The next name of a kernel in a text, "kernel 'x'" or "`x`"; *quote: what ends it.  NULL: none. */
static const char *next_name(const char *text, char *quote)
{
	static const char mark[] = "kernel '";
	const char *tick = strchr(text, '`'), *kernel = strstr(text, mark);

	*quote = kernel && (!tick || kernel < tick) ? '\'' : '`';
	return *quote == '`' ? tick ? tick + 1 : NULL : kernel + strlen(mark);
}

/* Writes text with the whole names of the kernels in it. */
static int write_whole(sqlite3_stmt *whole, const char *text, FILE *out)
{
	const char *at, *end;
	char quote;
	int step;

	for (; (at = next_name(text, &quote)); text = end) {
		end = strchr(at, quote);
		if (!end)
			break;
		sqlite3_bind_text(whole, 1, at, (int)(end - at), SQLITE_TRANSIENT);
		step = sqlite3_step(whole);
		print(out, "%.*s", (int)(at - text), text);
		if (step == SQLITE_ROW)
			print(out, "%s", (const char *)sqlite3_column_text(whole, 0));
		else
			print(out, "%.*s", (int)(end - at), at);
		sqlite3_reset(whole);
		if (step != SQLITE_ROW && step != SQLITE_DONE)
			return -1;
		print(out, "%c", *end++);
	}
	print(out, "%s", text);
	return 0;
}

/* whole_names(text) */
static void whole_names(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *text = (const char *)sqlite3_value_text(value[0]);
	char *whole = NULL;
	size_t size;
	FILE *out = text ? open_memstream(&whole, &size) : NULL;
	int rc = out ? write_whole(sqlite3_user_data(context), text, out) : -1;

	if (out && (fclose(out) || rc))
		sqlite3_result_error(context, "cannot look up a kernel's name", -1);
	else if (out)
		sqlite3_result_text(context, whole, -1, SQLITE_TRANSIENT);
	free(whole);
}

int full_names_use(struct db *db)
{
	sqlite3_stmt *whole = db_prepare(db,
		"SELECT whole FROM main.kernel_name WHERE label = ?1 ORDER BY kernel LIMIT 1");
	int rc = !whole ||
		sqlite3_create_function(db->handle, "whole_names", 1, SQLITE_UTF8, whole,
			whole_names, NULL, NULL) ||
		db_exec(db, tables_sql);

	/* The function goes with the statement that it reads. */
	sqlite3_create_function(db->handle, "whole_names", 1, SQLITE_UTF8, NULL, NULL, NULL, NULL);
	sqlite3_finalize(whole);
	return rc ? -1 : 0;
}
