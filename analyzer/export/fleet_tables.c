/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_tables.h"

#include <stdio.h>

#include "memory.h"
#include "print.h"

/* The columns of table exported, and the SQL of each, for a row p of table process. */
#define ACCOUNTED(causes) \
	"(SELECT coalesce(sum(a.time), 0) FROM account a WHERE a.process = p.id AND a.device IS " \
	"NULL AND " causes ")"
static const struct {
	struct fleet_column column;
	const char *sql;
} exported[] = {
	{ { "run", "--run, or when the run began", SQLITE_TEXT, 0 }, "?1" },
	{ { "commit", "--commit", SQLITE_TEXT, 1 }, "?2" },
	{ { "command", "run.command", SQLITE_TEXT, 1 }, "(SELECT command FROM run)" },
	{ { "start_unix_ns", "time 0 of this database's other times", SQLITE_INTEGER, 0 },
		"(SELECT start_unix_ns FROM run)" },
	{ { "process", "process.id", SQLITE_INTEGER, 0 }, "p.id" },
	{ { "pid", "", SQLITE_INTEGER, 0 }, "p.pid" },
	{ { "rank", "this and the next: as in table rank", SQLITE_INTEGER, 1 }, "r.rank" },
	{ { "local_rank", "", SQLITE_INTEGER, 1 }, "r.local_rank" },
	{ { "world", "", SQLITE_INTEGER, 1 }, "r.world" },
	{ { "host", "", SQLITE_TEXT, 1 }, "r.host" },
	{ { "device", "", SQLITE_INTEGER, 1 }, "r.device" },
	{ { "turns", "loop.turns; NULL: there is no loop", SQLITE_INTEGER, 1 }, "l.turns" },
	{ { "time_ns", "of the loop, or of the process if it has none", SQLITE_INTEGER, 0 },
		"coalesce(l.end - l.start - l.paused, p.end - p.start)" },
	{ { "blocked_ns",
		  "of that the looping thread was in calls that wait or were blocked by the device",
		  SQLITE_INTEGER, 0 },
		ACCOUNTED("a.cause IN ('wait', 'held')") },
	{ { "own_ns", "of that it did something else", SQLITE_INTEGER, 0 },
		ACCOUNTED("a.cause NOT IN ('wait', 'held')") },
};
enum { EXPORTED = sizeof(exported) / sizeof(*exported) };

/* By which column the rows of a table are in hours; other tables follow a REF to one of these. */
static const struct {
	int table;
	const char *column;
} times[] = {
	{ TABLE_call, "enter" },
	{ TABLE_operation, "start" },
	{ TABLE_overhead, "start" },
	{ TABLE_usage, "since" },
	{ TABLE_clock_read, "time" },
	{ TABLE_asleep, "time" },
	{ TABLE_range, "start" },
	{ TABLE_host_run, "enter" },
	{ TABLE_turn, "start" },
	{ TABLE_hold, "ready" },
};

/* Kept traces, and what only merged databases have. */
static int is_left_out(int table)
{
	return table == TABLE_trace || (table >= TABLE_merge_source && table <= TABLE_deviation);
}

/* Returns the table of schema.def, or -1. */
static int schema_number(int number)
{
	for (int i = 0; i < TABLE_COUNT; i++)
		if (!is_left_out(i) && number-- == 1)
			return i;
	return -1;
}

int fleet_table(int number, struct fleet_table *table)
{
	const struct schema_table *from;

	if (!number) {
		*table = (struct fleet_table){ .name = "exported",
			.note = "a row for each process: its database, run and rank",
			.columns = EXPORTED };
		for (int i = 0; i < EXPORTED; i++)
			table->column[i] = exported[i].column;
		return 1;
	}
	number = schema_number(number);
	if (number < 0)
		return 0;
	from = &schema_tables[number];
	*table = (struct fleet_table){ .name = from->name,
		.note = from->note,
		.columns = (int)from->columns };
	for (size_t i = 0; i < from->columns; i++)
		table->column[i] =
			(struct fleet_column){ from->column[i].name, from->column[i].note,
				from->column[i].type ? from->column[i].type : SQLITE_INTEGER,
				from->column[i].null == SCHEMA_MAY_BE_NULL };
	return 1;
}

char *fleet_table_header(const struct fleet_table *table)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		memory_lacks();
	fputs("db", out);
	for (int i = 0; i < table->columns; i++)
		print(out, ",%s", table->column[i].name);
	fputc('\n', out);
	if (fclose(out))
		memory_lacks();
	return text;
}

/* --- the way from a row to its process and its time, by references that are never NULL --- */

static const char *own_time(int table)
{
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (times[i].table == table)
			return times[i].column;
	return NULL;
}

static const char *own_process(int table)
{
	if (table == TABLE_process)
		return "id";
	for (size_t i = 0; i < schema_tables[table].columns; i++)
		if (schema_tables[table].column[i].target == TABLE_process)
			return schema_tables[table].column[i].name;
	return NULL;
}

static const char *key_of(int table)
{
	return schema_tables[table].column[0].name;
}

/*
 * Appends the joins from row alias of a table to the nearest row that has what is looked for.
 * Returns its column and sets alias, or returns NULL.
 */
static const char *follow(sqlite3_str *joins, int table, const char *(*own)(int), const char *name,
	char alias[8])
{
	char before[8] = "t";

	for (int step = 0; step < 4; step++) {
		const struct schema_table *from = &schema_tables[table];
		const char *column = own(table);
		size_t i = 0;

		sqlite3_snprintf(8, alias, "%s", before);
		if (column)
			return column;
		while (i < from->columns &&
			(from->column[i].target < 0 || from->column[i].null == SCHEMA_MAY_BE_NULL))
			i++;
		if (i == from->columns)
			return NULL;
		sqlite3_snprintf(8, alias, "%s%d", name, step);
		sqlite3_str_appendf(joins, " LEFT JOIN \"%w\" %s ON %s.\"%w\" = %s.\"%w\"",
			schema_tables[from->column[i].target].name, alias, alias,
			key_of(from->column[i].target), before, from->column[i].name);
		sqlite3_snprintf(8, before, "%s", alias);
		table = from->column[i].target;
	}
	return NULL;
}

static void put_table(sqlite3_str *sql, int table)
{
	sqlite3_str *joins = sqlite3_str_new(NULL);
	char alias[8];
	const char *process = follow(joins, table, own_process, "p", alias), *time;
	char *text;

	if (process)
		sqlite3_str_appendf(joins, " LEFT JOIN rank r ON r.process = %s.\"%w\"", alias,
			process);
	time = follow(joins, table, own_time, "h", alias);
	sqlite3_str_appendf(sql, "SELECT %s, (SELECT start_unix_ns FROM run)",
		process ? "r.rank" : "NULL");
	if (time)
		sqlite3_str_appendf(sql, "+ coalesce(%s.\"%w\", 0)", alias, time);
	text = sqlite3_str_finish(joins);
	sqlite3_str_appendf(sql, ", t.* FROM \"%w\" t%s", schema_tables[table].name,
		text ? text : "");
	sqlite3_free(text);
}

char *fleet_table_sql(int number)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	char *text;

	if (number) {
		put_table(sql, schema_number(number));
	} else {
		sqlite3_str_appendall(sql, "SELECT r.rank, (SELECT start_unix_ns FROM run)");
		for (int i = 0; i < EXPORTED; i++)
			sqlite3_str_appendf(sql, ", %s", exported[i].sql);
		sqlite3_str_appendall(sql,
			" FROM process p LEFT JOIN rank r ON r.process = p.id"
			" LEFT JOIN loop l ON l.process = p.id");
	}
	text = sqlite3_str_finish(sql);
	if (!text)
		memory_lacks();
	return text;
}
