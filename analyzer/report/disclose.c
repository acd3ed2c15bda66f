/* SPDX-License-Identifier: Apache-2.0 */
#include "disclose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"

/* A column of a table, and what replaces its value from that level on. */
static const struct {
	enum disclosure from;
	const char *table, *column, *value;
} hidden[] = {
	{ DISCLOSE_PROGRAM, "run", "command", "program_name(command)" },
	{ DISCLOSE_PROGRAM, "property", "value",
		"iif(name = 'command', program_name(value), value)" },
	{ DISCLOSE_PROGRAM, "trace", "data", "NULL" },
	{ DISCLOSE_LEAST, "property", "value",
		"iif(name = 'command', program_name(value), last_part(value))" },
	{ DISCLOSE_LEAST, "rank", "host", "NULL" },
	{ DISCLOSE_LEAST, "process", "trace_path", "last_part(trace_path)" },
	{ DISCLOSE_LEAST, "module", "path", "last_part(path)" },
	{ DISCLOSE_LEAST, "image_file", "path", "last_part(path)" },
	{ DISCLOSE_LEAST, "symbol", "file", "last_part(file)" },
	{ DISCLOSE_LEAST, "code", "file", "last_part(file)" },
	{ DISCLOSE_LEAST, "site", "file", "last_part(file)" },
	{ DISCLOSE_LEAST, "site", "text", "last_part(text)" },
	{ DISCLOSE_LEAST, "frame", "file", "last_part(file)" },
};

/*
 * Rows that are left out from that level on: settings of the environment have names in capitals, or
 * env. before them.
 */
static const struct {
	enum disclosure from;
	const char *table, *condition;
} kept[] = {
	{ DISCLOSE_LEAST, "property",
		"name NOT GLOB '[A-Z]*' AND name NOT GLOB 'env.*' AND name <> 'host'" },
};

static const char *last_part(const char *text)
{
	const char *slash = strrchr(text, '/');

	return slash ? slash + 1 : text;
}

static void last_part_of(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *text = (const char *)sqlite3_value_text(value[0]);

	if (text)
		sqlite3_result_text(context, last_part(text), -1, SQLITE_TRANSIENT);
}

/* program_name(command): the last part of its first word; words are separated by spaces. */
static void program_name(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *command = (const char *)sqlite3_value_text(value[0]);
	char *name = command ? strndup(command, strcspn(command, " ")) : NULL;

	if (name)
		sqlite3_result_text(context, last_part(name), -1, SQLITE_TRANSIENT);
	free(name);
}

/* The expression for a column at that level: its own name, or what replaces it. */
static const char *expression(enum disclosure disclosure, const char *table, const char *column)
{
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (hidden[i].from <= disclosure && !strcmp(hidden[i].table, table) &&
			!strcmp(hidden[i].column, column))
			found = hidden[i].value;
	return found;
}

static int make_view(struct db *db, enum disclosure disclosure, const char *table)
{
	sqlite3_stmt *q =
		db_prepare(db, "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1");
	char *text = NULL;
	const char *separator = "SELECT ";
	size_t size;
	FILE *sql = open_memstream(&text, &size);
	int step = q && sql && !db_bind(q, "s", table) ? 0 : -1;

	if (sql)
		print(sql, "CREATE TEMP VIEW %s AS ", table);
	while (!step && (step = db_step(q)) > 0) {
		const char *column = db_text(q, 0), *value = expression(disclosure, table, column);

		print(sql, "%s%s%s\"%s\"", separator, value ? value : "", value ? " AS " : "",
			column);
		separator = ", ";
		step = 0;
	}
	if (sql)
		print(sql, " FROM main.%s WHERE 1", table);
	for (size_t i = 0; sql && i < sizeof(kept) / sizeof(*kept); i++)
		if (kept[i].from <= disclosure && !strcmp(kept[i].table, table))
			print(sql, " AND %s", kept[i].condition);
	sqlite3_finalize(q);
	step = !sql || fclose(sql) || step ? -1 : db_exec(db, text);
	free(text);
	return step;
}

int disclose(struct db *db, enum disclosure disclosure)
{
	static const struct {
		const char *name;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = { { "program_name", program_name }, { "last_part", last_part_of } };
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, rc = 0;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && !rc; i++)
		rc = sqlite3_create_function(db->handle, functions[i].name, 1, flags, NULL,
			functions[i].function, NULL, NULL);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden) && !rc; i++) {
		const char *table = hidden[i].table;
		int first = hidden[i].from <= disclosure;

		for (size_t j = 0; j < i; j++)
			first &= hidden[j].from > disclosure || strcmp(hidden[j].table, table);
		if (first)
			rc = make_view(db, disclosure, table);
	}
	return rc ? -1 : 0;
}

int disclose_is_least(struct db *db)
{
	return (int)db_int(db,
		"SELECT EXISTS (SELECT 1 FROM temp.sqlite_master"
		" WHERE type = 'view' AND name = 'site')",
		0);
}
