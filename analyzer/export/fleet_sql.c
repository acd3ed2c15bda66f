/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_sql.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet_files.h"
#include "fleet_tables.h"
#include "memory.h"
#include "output.h"
#include "output_name.h"
#include "print.h"
#include "queries.h"

#define COMMAND "cufence export"

static const struct query fleet_queries[] = {
#define FLEET_QUERY(name, what, sql) { name, what, sql, 0 },
#include "fleet_queries.def"
};

struct engine {
	const char *name;
	char quote;                                   /* around names */
	const char *tables, *views;                   /* of all databases, and of one */
	const char *integer, *real, *text, *nullable; /* nullable: of a type, or NULL */
	void (*create)(const struct engine *, const struct fleet_table *, FILE *out);
	const char *begin;      /* of the statements that make tables */
	const char *one, *view; /* the same for views of one database; each of these */
};

static const char *type_of(const struct engine *engine, const struct fleet_column *column)
{
	return column->type == SQLITE_INTEGER  ? engine->integer
		: column->type == SQLITE_FLOAT ? engine->real
					       : engine->text;
}

static void put_column(const struct engine *engine, const struct fleet_column *column, FILE *out)
{
	print(out, ",\n\t%c%s%c ", engine->quote, column->name, engine->quote);
	print(out, column->null && engine->nullable ? "%s(%s)" : "%s%s",
		column->null && engine->nullable ? engine->nullable : "", type_of(engine, column));
}

/* --- DuckDB: views on the files --- */

static void create_duckdb(const struct engine *engine, const struct fleet_table *table, FILE *out)
{
	const char *between = " REPLACE (";

	print(out, "CREATE OR REPLACE VIEW \"%s\" AS SELECT *", table->name);
	for (int i = 0; i < table->columns; i++)
		if (table->column[i].type == SQLITE_BLOB) {
			print(out, "%sunhex(\"%s\") AS \"%s\"", between, table->column[i].name,
				table->column[i].name);
			between = ", ";
		}
	print(out,
		"%s FROM read_csv('%s/*/*/*/*.csv.gz', header = true, delim = ',', quote = '\"', "
		"escape = '\"', nullstr = '\\N', allow_quoted_nulls = false, "
		"hive_partitioning = true, hive_types = {'in_run': VARCHAR, 'in_rank': BIGINT, "
		"'in_hour': VARCHAR},\n\tcolumns = {'db': 'VARCHAR'",
		*between == ',' ? ")" : "", table->name);
	for (int i = 0; i < table->columns; i++)
		print(out, ", '%s': '%s'", table->column[i].name,
			type_of(engine, &table->column[i]));
	fputs("});\n", out);
}

/* --- ClickHouse: tables into which the files are written --- */

static void create_clickhouse(const struct engine *engine, const struct fleet_table *table,
	FILE *out)
{
	print(out, "CREATE TABLE IF NOT EXISTS cufence.`%s` (\n\t`db` String", table->name);
	for (int i = 0; i < table->columns; i++)
		put_column(engine, &table->column[i], out);
	fputs("\n) ENGINE = MergeTree ORDER BY db;\n", out);
}

/* --- Spark: tables on the files --- */

static void create_spark(const struct engine *engine, const struct fleet_table *table, FILE *out)
{
	print(out, "CREATE TABLE IF NOT EXISTS cufence.`%s` (\n\t`db` STRING", table->name);
	for (int i = 0; i < table->columns; i++)
		put_column(engine, &table->column[i], out);
	print(out,
		",\n\t`in_run` STRING,\n\t`in_rank` BIGINT,\n\t`in_hour` STRING\n) USING csv "
		"OPTIONS (header 'true', multiLine 'true', quote '\"', escape '\"', "
		"nullValue '\\\\N', emptyValue '')\n"
		"PARTITIONED BY (`in_run`, `in_rank`, `in_hour`) LOCATION '@DIR@/%s';\n"
		"MSCK REPAIR TABLE cufence.`%s`;\n",
		table->name, table->name);
}

static const struct engine engines[] = {
	{ "duckdb", '"', "main", "one.", "BIGINT", "DOUBLE", "VARCHAR", NULL, create_duckdb, "",
		"CREATE SCHEMA IF NOT EXISTS one;\nSET search_path = 'one,main';\n",
		"CREATE OR REPLACE VIEW" },
	{ "clickhouse", '`', "cufence", "one.", "Int64", "Float64", "String", "Nullable",
		create_clickhouse, "CREATE DATABASE IF NOT EXISTS cufence;\n",
		"DROP DATABASE IF EXISTS one;\nCREATE DATABASE one;\n", "CREATE VIEW" },
	{ "spark", '`', "cufence", "", "BIGINT", "DOUBLE", "STRING", NULL, create_spark,
		"CREATE DATABASE IF NOT EXISTS cufence;\n", "",
		"CREATE OR REPLACE TEMPORARY VIEW" },
};

/* --- files --- */

static void put_create(const struct engine *engine, const struct query *query, FILE *out)
{
	struct fleet_table table;

	fputs(engine->begin, out);
	for (int i = 0; fleet_table(i, &table); i++)
		engine->create(engine, &table, out);
}

static void put_one(const struct engine *engine, const struct query *query, FILE *out)
{
	struct fleet_table table;

	fputs(engine->one, out);
	for (int i = 0; fleet_table(i, &table); i++)
		print(out, "%s %s%c%s%c AS SELECT * FROM %s.%c%s%c WHERE db = '@DB@';\n",
			engine->view, engine->views, engine->quote, table.name, engine->quote,
			engine->tables, engine->quote, table.name, engine->quote);
}

/* Names in an engine's quotes. */
static void put_query(const struct engine *engine, const struct query *query, FILE *out)
{
	int literal = 0;

	print(out, "-- %s\n", query->summary);
	for (const char *c = query->sql; *c; c++) {
		literal ^= *c == '\'';
		fputc(*c == '"' && !literal ? engine->quote : *c, out);
	}
	fputs(";\n", out);
}

/* What an engine without patterns of files needs: one INSERT for each table. */
static void put_load(const struct engine *engine, const struct query *query, FILE *out)
{
	struct fleet_table table;

	fputs("#!/bin/sh\n"
	      "# load.sh [DB]: adds the files of all databases, or of one, to the tables.\n"
	      "set -e\ndb=$1\ncd \"$(dirname \"$0\")/..\"\nfor table in",
		out);
	for (int i = 0; fleet_table(i, &table); i++)
		print(out, " %s", table.name);
	/* This engine refuses an INSERT without rows. */
	fputs("; do\n\tset -- \"$table\" ! -name none.csv.gz -name \"${db:-*}.csv.gz\"\n"
	      "\t[ -n \"$(find \"$@\" | head -n 1)\" ] || continue\n"
	      "\tfind \"$@\" -exec sh -c 'for file; do\n"
	      "\t\tgzip -dc \"$file\" | tail -n +2; done' sh {} + |\n"
	      "\t\t${CLICKHOUSE_CLIENT:-clickhouse-client} --query \\\n"
	      "\t\t\"INSERT INTO cufence.\\`$table\\` FORMAT CSV\"\ndone\n",
		out);
}

struct text_file {
	void (*put)(const struct engine *, const struct query *, FILE *);
	const char *folder, *name;
};

/* 0, or -1 after a message. */
static int write_file(const struct engine *engine, const struct text_file *file,
	const struct query *query, const char *folder)
{
	char *path = xprintf("%s/%s/%s%s%s", folder, engine->name, file->folder,
		query ? query->name : file->name, query ? ".sql" : "");
	struct output output;
	int rc = output_folders(path, COMMAND) || output_open(&output, COMMAND, path) ? -1 : 0;

	if (!rc) {
		file->put(engine, query, output.file);
		rc = output_close(&output, COMMAND, 1);
	}
	free(path);
	return rc;
}

static int write_engine(const struct engine *engine, const char *folder)
{
	static const struct text_file create = { put_create, "", "create.sql" },
				      one = { put_one, "", "one.sql" },
				      load = { put_load, "", "load.sh" },
				      query = { put_query, "queries/", NULL },
				      question = { put_query, "fleet/", NULL };
	int rc = write_file(engine, &create, NULL, folder) ||
		write_file(engine, &one, NULL, folder) ||
		(engine->create == create_clickhouse && write_file(engine, &load, NULL, folder));

	for (const struct query *q = queries; !rc && q->name; q++)
		if (!q->here)
			rc = write_file(engine, &query, q, folder);
	for (size_t i = 0; !rc && i < sizeof(fleet_queries) / sizeof(*fleet_queries); i++)
		rc = write_file(engine, &question, &fleet_queries[i], folder);
	return rc ? -1 : 0;
}

static int write_empty(const struct fleet_table *table, const char *folder)
{
	char *header = fleet_table_header(table);
	struct fleet_files files = { .folder = folder,
		.table = table->name,
		.run = FLEET_NULL_NAME,
		.name = "none",
		.header = header };
	int failed = !fleet_file(&files, FLEET_NO_RANK, FLEET_NO_RANK);
	int rc = fleet_files_close(&files, !failed);

	free(header);
	return failed || rc ? -1 : 0;
}

int fleet_statements(const char *folder)
{
	struct fleet_table table;
	int rc = 0;

	for (size_t i = 0; i < sizeof(engines) / sizeof(*engines) && !rc; i++)
		rc = write_engine(&engines[i], folder);
	for (int i = 0; !rc && fleet_table(i, &table); i++)
		rc = write_empty(&table, folder);
	return rc;
}
