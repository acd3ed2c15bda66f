/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "db.h"
#include "print.h"
#include "queries.h"

static int list_queries(void)
{
	for (const struct query *query = queries; query->name; query++)
		print(stdout, "%-12s %s\n", query->name, query->summary);
	return 0;
}

/* A program that reads the values gets them as they are, a terminal what can be shown. */
static void print_value(const char *value, int column)
{
	fputs(column ? "\t" : "", stdout);
	if (isatty(STDOUT_FILENO))
		print(stdout, "%s", value ? value : "");
	else
		fputs(value ? value : "", stdout);
}

/* Columns are separated by tabs, NULL is empty. */
static void print_row(sqlite3_stmt *stmt)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		print_value((const char *)sqlite3_column_text(stmt, i), i);
	putchar('\n');
}

static void print_header(sqlite3_stmt *stmt)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		print_value(sqlite3_column_name(stmt, i), i);
	putchar('\n');
}

/* Pragmas that say something of a database, and change nothing of it or of how it is read. */
static int is_reading_pragma(const char *name)
{
	static const char *const names[] = { "application_id", "compile_options", "database_list",
		"encoding", "foreign_key_check", "foreign_key_list", "function_list", "index_info",
		"index_list", "index_xinfo", "integrity_check", "page_count", "page_size",
		"quick_check", "schema_version", "table_info", "table_list", "table_xinfo",
		"user_version" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!sqlite3_stricmp(name, names[i]))
			return 1;
	return 0;
}

/* What changes no database, and yet is more than reading: other files, locks, settings. */
static int authorize(void *arg, int action, const char *one, const char *two, const char *database,
	const char *view)
{
	switch (action) {
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
		return SQLITE_DENY;
	case SQLITE_PRAGMA:
		return is_reading_pragma(one) ? SQLITE_OK : SQLITE_DENY;
	}
	return SQLITE_OK;
}

static int run_statement(sqlite3_stmt *stmt, int header)
{
	int step;

	/* The file is opened for reading, but VACUUM INTO would write another one. */
	if (!sqlite3_stmt_readonly(stmt)) {
		fputs("cufence query: queries only read\n", stderr);
		return -1;
	}
	if (header)
		print_header(stmt);
	while ((step = db_step(stmt)) > 0)
		print_row(stmt);
	return step;
}

static int complain(struct db *db, const char *sql)
{
	if (sqlite3_errcode(db->handle) == SQLITE_AUTH)
		fputs("cufence query: queries only read\n", stderr);
	else if (!sql[strcspn(sql, " \t\n;")])
		print(stderr,
			"cufence query: there is no query '%s' (see \"cufence query "
			"--list\")\n",
			sql);
	else
		print(stderr, "cufence query: %s\n", sqlite3_errmsg(db->handle));
	return -1;
}

/* Every statement of it. */
static int run_query(struct db *db, const char *sql, int header)
{
	const char *rest = sql;
	sqlite3_stmt *stmt;
	int statements = 0, rc = 0;

	while (!rc && *rest) {
		if (sqlite3_prepare_v2(db->handle, rest, -1, &stmt, &rest) != SQLITE_OK)
			return complain(db, sql);
		if (!stmt)
			continue; /* space or a comment */
		statements++;
		rc = run_statement(stmt, header);
		sqlite3_finalize(stmt);
	}
	if (!statements)
		fputs("cufence query: there is no statement in it\n", stderr);
	return statements ? rc : -1;
}

int cmd_query(const struct arguments *arguments)
{
	const char *sql;
	struct db db;
	int rc;

	if (option(arguments, "--list"))
		return list_queries();
	if (arguments->count != 2) {
		fputs("cufence query: which database, and what query? (see \"cufence help "
		      "query\")\n",
			stderr);
		return EXIT_TROUBLE;
	}
	sql = arguments->operand[1];
	for (const struct query *query = queries; query->name; query++)
		if (!strcmp(query->name, sql))
			sql = query->sql;
	if (db_open(&db, arguments->operand[0], DB_READ))
		return EXIT_TROUBLE;
	sqlite3_set_authorizer(db.handle, authorize, NULL);
	rc = run_query(&db, sql, option(arguments, "--header") != NULL);
	db_close(&db);
	return rc ? EXIT_TROUBLE : 0;
}
