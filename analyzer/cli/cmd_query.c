/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "db.h"
#include "print.h"
#include "queries.h"
#include "query_rows.h"
#include "report_facts.h"

static int list_queries(void)
{
	for (const struct query *query = queries; query->name; query++)
		print(stdout, "%-12s %s\n", query->name, query->summary);
	return 0;
}

/* Pragmas that only describe the database. */
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

/* Denies what SQLite counts as reading but touches other files, locks or settings. */
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

#define READ_ONLY "cufence query: a query may only read; to change data, use sqlite3 on a copy\n"

static int run_statement(sqlite3_stmt *stmt, enum query_form form, int header)
{
	/* VACUUM INTO would write another file, although this one is open for reading only. */
	if (!sqlite3_stmt_readonly(stmt)) {
		fputs(READ_ONLY, stderr);
		return -1;
	}
	return query_rows(stmt, form, header, stdout);
}

static int complain(struct db *db, const char *sql)
{
	if (sqlite3_errcode(db->handle) == SQLITE_AUTH)
		fputs(READ_ONLY, stderr);
	else if (!sql[strcspn(sql, " \t\n;")])
		print(stderr,
			"cufence query: there is no query '%s' (see \"cufence query "
			"--list\")\n",
			sql);
	else
		print(stderr, "cufence query: %s%s\n", sqlite3_errmsg(db->handle),
			strstr(sqlite3_errmsg(db->handle), "no such")
				? " (SCHEMA.md lists all tables and columns)"
				: "");
	return -1;
}

/* Runs every statement of sql. */
static int run_query(struct db *db, const char *sql, enum query_form form, int header)
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
		rc = run_statement(stmt, form, header);
		sqlite3_finalize(stmt);
	}
	if (!statements)
		fputs("cufence query: the query is empty (see \"cufence query --list\")\n", stderr);
	return statements ? rc : -1;
}

/* Aligned columns for a terminal, plain values for programs. */
static int choose_form(const struct arguments *arguments, enum query_form *form)
{
	const char *json = option(arguments, "--json"), *csv = option(arguments, "--csv");

	if (json && csv) {
		fputs("cufence query: --json or --csv, not both\n", stderr);
		return -1;
	}
	*form = json                    ? QUERY_JSON
		: csv                   ? QUERY_CSV
		: isatty(STDOUT_FILENO) ? QUERY_ALIGNED
					: QUERY_TABS;
	return 0;
}

static const char *find_query(const char *sql)
{
	for (const struct query *query = queries; query->name; query++)
		if (!strcmp(query->name, sql))
			return query->sql;
	return sql;
}

int cmd_query(const struct arguments *arguments)
{
	int named = arguments->count == 2;
	enum query_form form;
	struct db db;
	int rc;

	if (option(arguments, "--list"))
		return list_queries();
	if (!arguments->count || (!named && !access(arguments->operand[0], F_OK))) {
		fputs("cufence query: the query is missing: give SQL or a name of \"cufence query "
		      "--list\", after the database if it is not cufence.db\n",
			stderr);
		return EXIT_TROUBLE;
	}
	if (choose_form(arguments, &form) ||
		db_open(&db, named ? arguments->operand[0] : "cufence.db", DB_READ))
		return EXIT_TROUBLE;
	rc = report_functions(&db);
	sqlite3_set_authorizer(db.handle, authorize, NULL);
	if (!rc)
		rc = run_query(&db, find_query(arguments->operand[named]), form,
			option(arguments, "--header") != NULL);
	db_close(&db);
	return rc ? EXIT_TROUBLE : 0;
}
