/* SPDX-License-Identifier: Apache-2.0 */
#include "database_damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 64 };

struct damager {
	struct damage *damage;
	sqlite3 *db;
	uint64_t random;
};

static uint64_t next_random(struct damager *damager)
{
	damager->random ^= damager->random << 13;
	damager->random ^= damager->random >> 7;
	damager->random ^= damager->random << 17;
	return damager->random * 0x2545f4914f6cdd1d >> 16;
}

static size_t below(struct damager *damager, size_t limit)
{
	return limit ? (size_t)(next_random(damager) % limit) : 0;
}

/* A trigger or a view of an earlier change may never end. */
enum { MOST_STEPS = 20000000 };

static int give_up(void *arg)
{
	(void)arg;
	return 1;
}

/* Runs SQL made of a format: whether that succeeded. */
static int change(struct damager *damager, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int change(struct damager *damager, const char *format, ...)
{
	va_list values;
	int changed;
	char *sql;

	va_start(values, format);
	sql = sqlite3_vmprintf(format, values);
	va_end(values);
	sqlite3_progress_handler(damager->db, MOST_STEPS, give_up, NULL);
	changed = sql && sqlite3_exec(damager->db, sql, NULL, NULL, NULL) == SQLITE_OK;
	sqlite3_progress_handler(damager->db, 0, NULL, NULL);
	sqlite3_free(sql);
	return changed;
}

static int64_t ask(struct damager *damager, const char *sql, char text[NAME])
{
	sqlite3_stmt *q = NULL;
	int64_t value = 0;

	if (text)
		*text = '\0';
	if (sqlite3_prepare_v2(damager->db, sql, -1, &q, NULL) == SQLITE_OK &&
		sqlite3_step(q) == SQLITE_ROW) {
		value = sqlite3_column_int64(q, 0);
		if (text && sqlite3_column_text(q, 0))
			snprintf(text, NAME, "%s", (const char *)sqlite3_column_text(q, 0));
	}
	sqlite3_finalize(q);
	return value;
}

static int64_t count_rows(struct damager *damager, const char *table)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM \"%s\"", table);
	return ask(damager, sql, NULL);
}

/* A table, one with rows as a rule. */
static void choose_table(struct damager *damager, char table[NAME])
{
	char sql[160];
/* clang-format off */
#define TABLES "FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' " \
	"AND name <> 'declared'"
	/* clang-format on */
	size_t count = (size_t)ask(damager, "SELECT count(*) " TABLES, NULL);

	for (int i = 0; i < 8; i++) {
		snprintf(sql, sizeof(sql), "%s LIMIT 1 OFFSET %zu", "SELECT name " TABLES,
			below(damager, count));
		ask(damager, sql, table);
		if (count_rows(damager, table))
			return;
	}
}

static void choose_column(struct damager *damager, const char *table, char column[NAME])
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		"SELECT name FROM pragma_table_info('%s') ORDER BY "
		"(cid + 1) * %zu %% 101 LIMIT 1",
		table, 1 + below(damager, 100));
	ask(damager, sql, column);
}

/* Chooses a row: returns SQL that holds for one. */
static char *choose_row(struct damager *damager, const char *table)
{
	int64_t count = count_rows(damager, table);
	size_t row = below(damager, (size_t)count);

	return sqlite3_mprintf("rowid = (SELECT rowid FROM \"%s\" LIMIT 1 OFFSET %lld)", table,
		(long long)row);
}

/* clang-format off */
static const char *const values[] = { "NULL", "'text'", "''", "x'00ff'", "-1", "0", "1", "2", "3",
	"9223372036854775807", "-9223372036854775808", "9223372036854775806", "4294967296",
	"2147483648", "1e300", "1152921504606846976", "'9'", "zeroblob(100000)",
	"'%s%n%s'", "(SELECT max(id) FROM call)", "(SELECT max(id) + 1 FROM call)",
	"100000000000" };
/* clang-format on */

static const char *value(struct damager *damager)
{
	return values[below(damager, sizeof(values) / sizeof(*values))];
}

/* --- kinds of damage --- */

static void cell(struct damager *damager)
{
	char table[NAME], column[NAME], *row;

	choose_table(damager, table);
	choose_column(damager, table, column);
	row = choose_row(damager, table);
	change(damager, "UPDATE \"%s\" SET \"%s\" = %s WHERE %s", table, column, value(damager),
		row);
	sqlite3_free(row);
}

static void column(struct damager *damager)
{
	static const char *const formulas[] = { "rowid", "-\"%s\"", "\"%s\" + 1", "\"%s\" * 2",
		"\"%s\" * 1000000000", "\"%s\" & 1", "NULL" };
	char table[NAME], column[NAME], *formula;

	choose_table(damager, table);
	choose_column(damager, table, column);
	formula = below(damager, 2) ? sqlite3_mprintf("%s", value(damager))
				    : sqlite3_mprintf(formulas[below(damager, 7)], column);
	change(damager, "UPDATE OR IGNORE \"%s\" SET \"%s\" = %s", table, column, formula);
	sqlite3_free(formula);
}

static void missing_row(struct damager *damager)
{
	char table[NAME], *row;

	choose_table(damager, table);
	row = choose_row(damager, table);
	if (below(damager, 4))
		change(damager, "DELETE FROM \"%s\" WHERE %s", table, row);
	else
		change(damager, "DELETE FROM \"%s\"", table);
	sqlite3_free(row);
}

/* References to other rows that are there: order is wrong, nothing else. */
static void reference(struct damager *damager)
{
	static const char *const columns[][3] = { { "call", "parent", "call" },
		{ "call", "thread", "thread" }, { "call", "stream", "stream" },
		{ "call", "type", "call_type" }, { "call", "event", "event" },
		{ "call", "kernel", "kernel" }, { "call", "context", "context" },
		{ "thread", "made_by", "call" }, { "thread", "joined_by", "call" },
		{ "graph_node", "child", "graph" }, { "graph_node", "graph", "graph" },
		{ "graph_edge", "from_node", "graph_node" }, { "graph_body", "graph", "graph" },
		{ "graph_exec", "graph", "graph" }, { "graph_change", "node", "graph_node" },
		{ "operation", "call", "call" }, { "operation", "stream", "stream" },
		{ "operand", "allocation", "allocation" }, { "allocation", "freed", "call" },
		{ "allocation", "created", "call" }, { "stream", "created", "call" },
		{ "stream", "destroyed", "call" }, { "stream", "context", "context" },
		{ "call_object", "object", "call" }, { "hold", "behind", "operation" },
		{ "wait", "op", "operation" }, { "wait", "partner", "call" },
		{ "edge", "needs", "call" }, { "finding", "site", "site" },
		{ "finding", "call", "call" }, { "process", "parent_pid", "process" } };
	const char *const *which = columns[below(damager, sizeof(columns) / sizeof(*columns))];
	int step = 1 + (int)below(damager, 7), first = (int)below(damager, 100);

	change(damager,
		"UPDATE OR IGNORE %s SET %s = 1 + abs(rowid * %d + %d) %% "
		"(SELECT max(id) FROM %s) WHERE rowid %% %d = 0",
		which[0], which[1], step, first, which[2], 1 + (int)below(damager, 3));
}

static void more_rows(struct damager *damager)
{
	static const char *const tables[] = { "graph_body", "graph_edge", "operand", "hold",
		"overhead", "loss", "property", "recording", "calibration" };
	const char *table = tables[below(damager, sizeof(tables) / sizeof(*tables))];

	for (int i = 0; i < 8; i++)
		change(damager, "INSERT INTO %s SELECT * FROM %s LIMIT 1000", table, table);
}

static void shape(struct damager *damager)
{
	char table[NAME];
	int changed;

	choose_table(damager, table);
	switch (below(damager, 6)) {
	case 0:
		changed = change(damager, "DROP TABLE \"%s\"", table);
		break;
	case 1:
		change(damager, "DROP TABLE \"%s\"", table);
		changed = change(damager,
			"CREATE VIEW \"%s\" AS WITH RECURSIVE n(id) AS "
			"(SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT * FROM n",
			table);
		break;
	case 2:
		change(damager, "ALTER TABLE \"%s\" RENAME TO other", table);
		changed = change(damager, "CREATE VIEW \"%s\" AS SELECT * FROM other", table);
		break;
	case 3:
		changed = change(damager,
			"CREATE TRIGGER t AFTER DELETE ON \"%s\" "
			"BEGIN DELETE FROM call; END",
			table);
		break;
	case 4:
		changed = change(damager, "ALTER TABLE \"%s\" ADD COLUMN more", table);
		break;
	default:
		change(damager, "DROP TABLE \"%s\"", table);
		changed = change(damager, "CREATE TABLE \"%s\" (id, process, call)", table);
	}
	damager->damage->is_certain |= changed;
}

/* Two tables or indexes have the same pages, or each other's. */
static void roots(struct damager *damager)
{
	size_t count =
		(size_t)ask(damager, "SELECT count(*) FROM sqlite_schema WHERE rootpage", NULL);
	int one = (int)below(damager, count), other = (int)below(damager, count);

	change(damager,
		"UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema "
		"WHERE rootpage LIMIT 1 OFFSET %d) WHERE name = (SELECT name FROM sqlite_schema "
		"WHERE rootpage LIMIT 1 OFFSET %d)",
		one, other);
}

/* The more often a kind stands here, the more often it is done. */
static const struct {
	void (*apply)(struct damager *damager);
	const char *name;
} by_sql[] = {
	{ cell, "cell" },
	{ cell, "cell" },
	{ cell, "cell" },
	{ column, "column" },
	{ column, "column" },
	{ missing_row, "missing row" },
	{ reference, "reference" },
	{ reference, "reference" },
	{ more_rows, "more rows" },
	{ shape, "shape" },
	{ roots, "roots" },
};

/* --- bytes --- */

static void pages(struct damager *damager)
{
	struct damage *damage = damager->damage;
	size_t size = (size_t)damage->data[16] << 8 | damage->data[17], count;
	unsigned char *to;

	if (size < 512)
		return;
	count = (size_t)damage->size / size;
	to = damage->data + below(damager, count) * size;
	memmove(to, damage->data + below(damager, count) * size, size);
}

static void bytes(struct damager *damager)
{
	struct damage *damage = damager->damage;
	size_t at = below(damager, (size_t)damage->size - 8), near = below(damager, 4);

	for (size_t i = 1 + below(damager, 16); i--;) {
		damage->data[at] = (unsigned char)next_random(damager);
		at = near ? (at + below(damager, 16)) % (size_t)damage->size
			  : below(damager, (size_t)damage->size);
	}
}

static void cut(struct damager *damager)
{
	struct damage *damage = damager->damage;

	if (!below(damager, 4))
		damage->size = (sqlite3_int64)below(damager, (size_t)damage->size);
	else
		bytes(damager);
}

static void (*const by_bytes[])(struct damager *) = { pages, pages, bytes, bytes, cut };

/* --- the whole --- */

/* Indexes are forgotten and come back as they were: they say what was. */
static void hide_indexes(struct damager *damager)
{
	change(damager,
		"CREATE TEMP TABLE hidden AS SELECT * FROM sqlite_schema "
		"WHERE type = 'index' AND sql NOT NULL; "
		"DELETE FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL");
}

static sqlite3 *open_copy(const unsigned char *data, sqlite3_int64 size)
{
	unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)size);
	sqlite3 *db = NULL;

	if (!copy || sqlite3_open(":memory:", &db) != SQLITE_OK)
		exit(2);
	memcpy(copy, data, (size_t)size);
	if (sqlite3_deserialize(db, "main", copy, size, size,
		    SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) != SQLITE_OK)
		exit(2);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	sqlite3_exec(db, "PRAGMA writable_schema = ON; PRAGMA legacy_alter_table = ON", NULL, NULL,
		NULL);
	return db;
}

/* The declarations allow anything; cufence's own are kept in a table. */
int damage_base_init(struct damage_base *base, sqlite3 *whole)
{
	sqlite3_int64 size;
	unsigned char *data = sqlite3_serialize(whole, "main", &size, 0);
	struct damager damager = { 0 };

	if (!data)
		return -1;
	damager.db = open_copy(data, size);
	sqlite3_free(data);
	change(&damager,
		"CREATE TABLE declared AS SELECT name, sql FROM sqlite_schema "
		"WHERE type = 'table' AND sql NOT NULL");
	change(&damager,
		"UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') "
		"WHERE type = 'table' AND sql NOT LIKE '%%WITHOUT ROWID%%'");
	base->data = sqlite3_serialize(damager.db, "main", &base->size, 0);
	sqlite3_close(damager.db);
	return base->data ? 0 : -1;
}

/* Restores the declarations of loosened tables that still exist, and drops our own table. */
static void restore(struct damager *damager, int hidden)
{
	change(damager,
		"UPDATE sqlite_master SET sql = (SELECT d.sql FROM declared d "
		"WHERE d.name = sqlite_master.name) WHERE type = 'table' AND name IN "
		"(SELECT name FROM declared) AND sql NOT LIKE '%%, more%%' "
		"AND sql NOT LIKE '%%(id, process, call)%%'");
	if (hidden)
		change(damager, "INSERT INTO sqlite_schema SELECT * FROM hidden");
	change(damager, "DROP TABLE declared");
}

/* By the only other judge there is: SQLite's own checks of what is declared. */
static int is_certain(struct damager *damager)
{
	char answer[NAME];

	return ask(damager, "SELECT count(*) FROM pragma_foreign_key_check", NULL) ||
		(ask(damager, "PRAGMA integrity_check", answer), strcmp(answer, "ok") != 0) ||
		ask(damager,
			"SELECT count(*) FROM call WHERE parent >= id OR typeof(enter) <> "
			"'integer' OR typeof(bytes) NOT IN ('integer', 'null')",
			NULL);
}

static void note(struct damage *damage, const char *kind)
{
	size_t length = strlen(damage->what);

	snprintf(damage->what + length, sizeof(damage->what) - length, "%s ", kind);
}

int damage_init(struct damage *damage, const struct damage_base *base, uint64_t number)
{
	struct damager damager = { .damage = damage,
		.db = open_copy(base->data, base->size),
		.random = number * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1d };
	size_t changes, hidden;

	*damage = (struct damage){ .number = number };
	below(&damager, 2);
	changes = below(&damager, 4);
	hidden = !below(&damager, 5);
	if (hidden)
		hide_indexes(&damager);
	for (size_t i = 0; i < changes; i++) {
		size_t which = below(&damager, sizeof(by_sql) / sizeof(*by_sql));
		by_sql[which].apply(&damager);
		note(damage, by_sql[which].name);
	}
	restore(&damager, (int)hidden);
	damage->data = sqlite3_serialize(damager.db, "main", &damage->size, 0);
	sqlite3_close(damager.db);
	if (!damage->data)
		return -1;
	damager.db = open_copy(damage->data, damage->size);
	damage->is_certain |= is_certain(&damager);
	sqlite3_close(damager.db);
	for (size_t i = changes ? below(&damager, 3) / 2 : 1 + below(&damager, 3); i--;) {
		/* From here on anything may be overwritten, the damage as well. */
		damage->is_certain = 0;
		by_bytes[below(&damager, sizeof(by_bytes) / sizeof(*by_bytes))](&damager);
		note(damage, "bytes");
	}
	return 0;
}

void damage_release(struct damage *damage)
{
	sqlite3_free(damage->data);
}

int damage_write(const struct damage *damage, const char *path)
{
	FILE *out = fopen(path, "wb");

	if (out && fwrite(damage->data, 1, (size_t)damage->size, out) == (size_t)damage->size &&
		!fclose(out))
		return 0;
	perror(path);
	return -1;
}
