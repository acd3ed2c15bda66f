/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "command.h"
#include "db.h"
#include "queries.h"

static int list_queries(void)
{
	for (const struct query *query = queries; query->name; query++)
		printf("%-12s %s\n", query->name, query->summary);
	return 0;
}

/* Columns are separated by tabs, NULL is empty. */
static void print_row(sqlite3_stmt *stmt)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		const char *value = (const char *)sqlite3_column_text(stmt, i);
		printf("%s%s", i ? "\t" : "", value ? value : "");
	}
	putchar('\n');
}

static void print_header(sqlite3_stmt *stmt)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		printf("%s%s", i ? "\t" : "", sqlite3_column_name(stmt, i));
	putchar('\n');
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
	if (!sql[strcspn(sql, " \t\n;")])
		fprintf(stderr, "cufence query: there is no query '%s' (see \"cufence query "
			"--list\")\n", sql);
	else
		fprintf(stderr, "cufence query: %s\n", sqlite3_errmsg(db->handle));
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
	if (db_open(&db, arguments->operand[0], 1))
		return EXIT_TROUBLE;
	rc = run_query(&db, sql, option(arguments, "--header") != NULL);
	db_close(&db);
	return rc ? EXIT_TROUBLE : 0;
}
