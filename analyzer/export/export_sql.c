/* SPDX-License-Identifier: Apache-2.0 */
#include "export_sql.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print.h"
#include "report_facts.h"
#include "report_finding.h"
#include "rules.h"

static const char *text(sqlite3_value *value)
{
	return (const char *)sqlite3_value_text(value);
}

/* --- files --- */

/* File names are relative to the current folder, the root of the checked sources. */
static const char *relative(const struct export_sql *sql, const char *file)
{
	size_t length = strlen(sql->folder);

	while (!strncmp(file, "./", 2))
		file += 2;
	return length > 1 && !strncmp(file, sql->folder, length) ? file + length : file;
}

static void source_path(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *file = text(value[0]);

	if (file)
		sqlite3_result_text(context, relative(sqlite3_user_data(context), file), -1,
			SQLITE_TRANSIENT);
}

static char *make_uri(const char *path)
{
	static const char kept[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789-._~/";
	sqlite3_str *uri = sqlite3_str_new(NULL);

	if (*path == '/')
		sqlite3_str_appendall(uri, "file://");
	for (; *path; path++)
		if (strchr(kept, *path))
			sqlite3_str_appendchar(uri, 1, *path);
		else
			sqlite3_str_appendf(uri, "%%%02X", (unsigned char)*path);
	return sqlite3_str_finish(uri);
}

static void source_uri(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *file = text(value[0]);

	if (file)
		sqlite3_result_text(context, make_uri(relative(sqlite3_user_data(context), file)),
			-1, sqlite3_free);
}

static void source_base(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *file = text(value[0]);

	if (file && *relative(sqlite3_user_data(context), file) != '/')
		sqlite3_result_text(context, "SRCROOT", -1, SQLITE_STATIC);
}

char *export_sql_root(const struct export_sql *sql)
{
	return make_uri(*sql->folder ? sql->folder : "/");
}

/* --- words --- */

/* Returns the output of a print function as the SQL result. */
static void put_result(sqlite3_context *context, FILE *memory, char **said, int rc)
{
	if (!memory || fclose(memory)) {
		sqlite3_result_error_nomem(context);
	} else if (rc) {
		sqlite3_result_error(context, "it cannot be named", -1);
	} else {
		sqlite3_result_text(context, *said, -1, SQLITE_TRANSIENT);
	}
	free(*said);
}

static void submitted_by(sqlite3_context *context, int count, sqlite3_value **value)
{
	const struct export_sql *sql = sqlite3_user_data(context);
	char *said = NULL;
	size_t size;
	FILE *memory = open_memstream(&said, &size);

	put_result(context, memory, &said,
		memory ? words_operation(sql->words, sqlite3_value_int64(value[0]), memory) : -1);
}

static void call_name(sqlite3_context *context, int count, sqlite3_value **value)
{
	const struct export_sql *sql = sqlite3_user_data(context);
	char *said = NULL;
	size_t size;
	FILE *memory = open_memstream(&said, &size);

	put_result(context, memory, &said,
		memory ? words_call(sql->words, sqlite3_value_int64(value[0]), memory) : -1);
}

static void cost_text(sqlite3_context *context, int count, sqlite3_value **value)
{
	const struct export_sql *sql = sqlite3_user_data(context);
	char *said = NULL;
	size_t size;
	FILE *memory = open_memstream(&said, &size);
	int step = db_bind(sql->cost, "i", sqlite3_value_int64(value[0])) ? -1 : db_step(sql->cost);

	if (memory && step > 0)
		report_print_cost(sql->cost, 0, memory);
	sqlite3_reset(sql->cost);
	put_result(context, memory, &said, step < 0 ? -1 : 0);
}

static void shown(sqlite3_context *context, int count, sqlite3_value **value)
{
	char *said = NULL;
	size_t size;
	FILE *memory;

	if (!text(value[0]))
		return;
	memory = open_memstream(&said, &size);
	if (memory)
		print(memory, "%s", text(value[0]));
	put_result(context, memory, &said, 0);
}

static void rule_number(sqlite3_context *context, int count, sqlite3_value **value)
{
	const struct rule_info *rule = text(value[0]) ? rule_find(text(value[0])) : NULL;

	if (rule)
		sqlite3_result_int64(context, rule - rules);
}

static int add_functions(struct export_sql *sql)
{
	static const struct {
		const char *name;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "source_path", source_path },
		{ "source_uri", source_uri },
		{ "source_base", source_base },
		{ "submitted_by", submitted_by },
		{ "call_name", call_name },
		{ "rule_number", rule_number },
		{ "cost_text", cost_text },
		{ "shown", shown },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (sqlite3_create_function(sql->db->handle, functions[i].name, 1,
			    SQLITE_UTF8 | SQLITE_DIRECTONLY, sql, functions[i].function, NULL,
			    NULL) != SQLITE_OK) {
			print(stderr, "cufence: SQLite: %s\n", sqlite3_errmsg(sql->db->handle));
			return -1;
		}
	return 0;
}

int export_sql_open(struct export_sql *sql, struct db *db)
{
	*sql = (struct export_sql){ .db = db };
	if (!getcwd(sql->folder, sizeof(sql->folder) - 1))
		*sql->folder = '\0';
	else if (strcmp(sql->folder, "/"))
		strcat(sql->folder, "/");
	sql->words = words_open(db);
	sql->cost = db_prepare(db, "SELECT " REPORT_COST_COLUMNS " FROM finding f WHERE f.id = ?");
	return sql->words && sql->cost && !report_functions(db) && !add_functions(sql) ? 0 : -1;
}

void export_sql_close(struct export_sql *sql)
{
	sqlite3_finalize(sql->cost);
	if (sql->words)
		words_close(sql->words);
	*sql = (struct export_sql){ 0 };
}
